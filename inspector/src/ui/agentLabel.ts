/** Display names of the agents: as their vendors write them, or as the server's catalogue names them. */

import { isObject, parseJson } from "../json";
import { readStored, writeStored } from "./hooks/useStored";

const LABELS: Record<string, string> = {
  claude: "Claude Code",
  codex: "Codex",
  opencode: "OpenCode",
  amp: "Amp",
  pi: "Pi",
  cursor: "Cursor",
  mock: "Mock",
  gemini: "Gemini CLI",
  qwen: "Qwen Code",
  copilot: "Copilot",
  goose: "Goose",
  "kimi-code": "Kimi Code",
  "mistral-vibe": "Mistral Vibe",
  grok: "Grok",
  hermes: "Hermes",
  "fast-agent": "fast-agent",
};

const STORED = "agent-names";
const stored = parseJson(readStored(STORED) ?? "");
/** Names of the agents that were added to the server's catalogue, by id; kept for the next visit. */
let known: Record<string, unknown> = isObject(stored) ? stored : {};

export function rememberNames(agents: readonly { id: string; name?: string }[]): void {
  const named = agents.filter(({ id, name }) => name && !(id in LABELS) && known[id] !== name);
  if (named.length === 0) return;
  known = { ...known, ...Object.fromEntries(named.map(({ id, name }) => [id, name])) };
  writeStored(STORED, JSON.stringify(known));
}

export function agentLabel(id: string): string {
  const name = known[id];
  return LABELS[id] ?? (typeof name === "string" ? name : id);
}
