/** Display names of the agents, as their vendors write them. */

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

/** The name is known where the agent was read from the server's catalogue. */
export function agentLabel(id: string, name?: string): string {
  return LABELS[id] ?? name ?? id;
}
