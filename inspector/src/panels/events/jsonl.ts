/** Conversations as JSON lines, one message each, with the field names of the client library's stores. */

import type { LoggedMessage, StoredMessage } from "../../fold/message";
import { isObject, numberAt, objectAt, parseJson, textAt, type Json } from "../../json";
import type { AppState } from "../../state/appState";
import type { SessionRecord } from "../../storage/sessionRecord";

/** @param agent id of the agent; the stores have it in the record of the session */
export function exportJsonl(
  messages: readonly LoggedMessage[],
  sessionId: string,
  agent: string | undefined,
): string {
  const lines = messages
    .filter((message) => !message.gap)
    .map((message, index) =>
      JSON.stringify({
        id: `${sessionId}-${index + 1}`,
        eventIndex: index + 1,
        sessionId,
        createdAt: message.time,
        connectionId: sessionId,
        ...(agent === undefined ? {} : { agent }),
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
  agent?: string;
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
      const agent = textAt(entry, "agent");
      return {
        sender,
        time,
        payload: entry.payload,
        ...(eventId === undefined ? {} : { eventId }),
        ...(agent === undefined ? {} : { agent }),
      };
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

/**
 * The runs of the instance: a server that was started again numbers its events from 1. What clients sent since the
 * last event of a run, from `initialize` on, belongs to the next one.
 */
export function splitRuns(messages: readonly ImportedMessage[]): ImportedMessage[][] {
  const runs: ImportedMessage[][] = [[]];
  let last = 0;
  for (const message of messages) {
    const { eventId } = message;
    if (eventId !== undefined) {
      if (eventId <= last) {
        const before = runs.at(-1)!;
        const agents = before.findLastIndex((one) => one.sender === "agent");
        const first = before.findIndex(
          (one, at) => at > agents && textAt(one.payload, "method") === "initialize",
        );
        runs.push(first < 0 ? [] : before.splice(first));
      }
      last = eventId;
    }
    runs.at(-1)!.push(message);
  }
  return runs;
}

/** Rows with the server's numbers, or counted if the file has none. */
export function storedRows(run: readonly ImportedMessage[], log: string): StoredMessage[] {
  const counted = run.every(({ eventId }) => eventId === undefined);
  let position = 0;
  return run.map(({ eventId, sender, time, payload }, index): StoredMessage => {
    position = counted ? index + 1 : (eventId ?? position);
    return { log, position, order: counted || eventId !== undefined ? 0 : index + 1, sender, time, payload };
  });
}

/** The id of the agent, or the name that it gave itself in its answer to `initialize`. */
export function agentOf(messages: readonly ImportedMessage[]): string | undefined {
  const named = messages.find(({ agent }) => agent !== undefined)?.agent;
  if (named !== undefined) return named;
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
  const now = Date.now();
  const runs = splitRuns(messages).map((run, index) => storedRows(run, `import|${id}|${index + 1}`));
  for (const rows of runs) await app.history.addMessages(rows);
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
    logs: runs.map((rows) => rows[0]!.log),
  };
  await app.sessions.put(session);
  return session;
}
