/** Conversations as JSON lines, one message each, with the field names of the client library's stores. */

import type { LoggedMessage, StoredMessage } from "../../fold/message";
import { isObject, numberAt, objectAt, parseJson, textAt, type Json } from "../../json";
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

interface ImportedMessage extends Pick<StoredMessage, "sender" | "time" | "payload"> {
  /** The number that the server gave to the event. */
  eventId?: number;
}

/** The messages of an exported file. A line that is a bare JSON-RPC message counts as the agent's. */
export function parseJsonl(text: string): ImportedMessage[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line, index) => {
      const entry = parseLine(line, index + 1);
      if (!isObject(entry) || entry.payload === undefined)
        return { sender: "agent", time: Date.now(), payload: entry };
      const sender = textAt(entry, "sender") === "client" ? "client" : "agent";
      const eventId = numberAt(entry, "streamEventId");
      const time = numberAt(entry, "createdAt") ?? Date.now();
      return { sender, time, payload: entry.payload, ...(eventId === undefined ? {} : { eventId }) };
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

/** Rows that keep the server's numbers, unless the file has several runs with numbers of their own. */
export function storedRows(messages: readonly ImportedMessage[], log: string): StoredMessage[] {
  const ids = messages.filter((one) => one.sender === "agent").map((one) => one.eventId ?? 0);
  const numbered = ids.every((id, index) => id > (ids[index - 1] ?? 0));
  let position = 0;
  return messages.map(({ eventId, sender, time, payload }, index): StoredMessage => {
    const agent = sender === "agent";
    if (!numbered) position = index + 1;
    else if (agent) position = eventId!;
    return { log, position, order: agent || !numbered ? 0 : index + 1, sender, time, payload };
  });
}

/** The name that the agent gave itself in its answer to `initialize`. */
export function agentOf(messages: readonly ImportedMessage[]): string | undefined {
  for (const { payload } of messages) {
    const name = textAt(objectAt(objectAt(payload, "result"), "agentInfo"), "name");
    if (name) return name;
  }
  return undefined;
}

export async function importJsonl(app: AppState, file: File): Promise<SessionRecord> {
  const messages = parseJsonl(await file.text());
  if (messages.length === 0) throw new Error("The file is empty.");
  const id = crypto.randomUUID();
  const log = `import|${id}`;
  const now = Date.now();
  const rows = storedRows(messages, log);
  await app.history.addMessages(rows);
  const session: SessionRecord = {
    id,
    origin: app.http.origin,
    agent: agentOf(messages) ?? "imported",
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
