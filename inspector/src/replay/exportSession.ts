/** Saves a conversation as one HTML file that needs neither server nor network. */

import type { Instance } from "../instance/instance";
import { agentLabel } from "../ui/agentLabel";
import { saveFile } from "../ui/saveFile";
import { writeSessionFile } from "./sessionFile";

const LONGEST_NAME = 60;

export async function exportSession(instance: Instance, agent: string, title: string): Promise<void> {
  const response = await fetch(`${import.meta.env.BASE_URL}replay.html`, { credentials: "omit" });
  if (!response.ok) throw new Error(`The page has no replay: HTTP ${response.status}.`);
  const { entries, entryCount, conversation } = instance.snapshot();
  const facts = {
    title,
    agent: agentLabel(agent),
    savedAt: Date.now(),
    isOver: conversation.turns.length === 0,
  };
  const file = writeSessionFile(await response.text(), facts, entries.slice(0, entryCount));
  saveFile(`${fileName(title) || "session"}.html`, file, "text/html");
}

function fileName(title: string): string {
  return title
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, LONGEST_NAME)
    .toLowerCase();
}
