/** Conversations as JSON lines, one message each, with the field names of the client library's stores. */

import type { LoggedMessage, StoredMessage } from "../../fold/message";
import { isObject, numberAt, parseJson, textAt, type Json } from "../../json";
import type { AppState } from "../../state/appState";
import type { SessionRecord } from "../../storage/sessionRecord";

export function exportJsonl(messages: readonly LoggedMessage[], sessionId: string): string {
  const lines = messages
    .filter((message) => !message.gap)
    .map((message, index) =>
      JSON.stringify({
        id: `${sessionId}-${index + 1}`,
        eventIndex: index + 1,
        sessionId,
        createdAt: message.time,
        connectionId: sessionId,
        sender: message.sender,
        ...(message.eventId === undefined ? {} : { streamEventId: message.eventId }),
        payload: message.payload,
      }),
    );
  return lines.map((line) => `${line}\n`).join("");
}

/** The messages of an exported file. A line that is a bare JSON-RPC message counts as the agent's. */
export function parseJsonl(text: string): Pick<StoredMessage, "sender" | "time" | "payload">[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, index) => {
      const entry = parseLine(line, index + 1);
      if (!isObject(entry) || entry.payload === undefined)
        return { sender: "agent", time: Date.now(), payload: entry };
      const sender = textAt(entry, "sender") === "client" ? "client" : "agent";
      return { sender, time: numberAt(entry, "createdAt") ?? Date.now(), payload: entry.payload };
    });
}

function parseLine(line: string, number: number): Json {
  const parsed = parseJson(line);
  if (parsed === undefined) {
    throw new Error(
      `Line ${number} of the file is not JSON. Pick a file that was exported here, one JSON object a line.`,
    );
  }
  return parsed;
}

export async function importJsonl(app: AppState, file: File): Promise<SessionRecord> {
  const messages = parseJsonl(await file.text());
  if (messages.length === 0) throw new Error("The file is empty.");
  const id = crypto.randomUUID();
  const log = `import|${id}`;
  const now = Date.now();
  const rows = messages.map((message, index): StoredMessage => ({
    ...message,
    log,
    position: index + 1,
    order: 0,
  }));
  await app.history.addMessages(rows);
  const session: SessionRecord = {
    id,
    origin: app.http.origin,
    agent: "imported",
    serverId: `import-${id.slice(0, 8)}`,
    title: file.name,
    cwd: "",
    mcpServers: [],
    createdAt: now,
    lastActiveAt: now,
    archived: false,
    imported: true,
    logs: [log],
  };
  await app.sessions.put(session);
  return session;
}
