/**
 * The file of an exported session: a page without a server (`replay.html` of the build) with the messages in data
 * blocks. Scripts of the file are known to its security policy by their hash, so nothing in the data can run.
 */

import type { LoggedMessage } from "../fold/message";
import { isObject, parseJson, textAt, type JsonObject } from "../json";
import { readMessages } from "./messageLines";

export interface SessionFacts {
  title: string;
  agent: string;
  /** Unix milliseconds. */
  savedAt: number;
  /** No turn was open when the file was written. */
  isOver: boolean;
}

const FACTS = "session-facts";
const MESSAGES = "session-messages";
/** Stands in `replay.html` where the data comes. */
const PLACE = "<!--session-->";
/** What clients sent besides prompts and answers may hold keys: `session/new` the environment of MCP servers. */
const SHOWN_METHODS = new Set([
  "initialize",
  "session/prompt",
  "session/cancel",
  "session/set_mode",
  "session/set_model",
  "session/set_config_option",
]);

export function writeSessionFile(
  template: string,
  facts: SessionFacts,
  messages: readonly LoggedMessage[],
): string {
  const [before, after, ...more] = template.split(PLACE);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error("The page of this server has no replay: build it again.");
  const lines = messages.map((message) => `${safeJson(line(message))}\n`).join("");
  return `${before}${block(FACTS, safeJson({ ...facts }))}${block(MESSAGES, `\n${lines}`)}${after}`;
}

export function readSessionFile(page: Document): { facts: SessionFacts; messages: LoggedMessage[] } {
  const facts = parseJson(page.getElementById(FACTS)?.textContent ?? "");
  if (!isObject(facts)) throw new Error("This file has no session.");
  return {
    facts: {
      title: textAt(facts, "title") ?? "",
      agent: textAt(facts, "agent") ?? "",
      savedAt: Number(facts.savedAt),
      isOver: facts.isOver === true,
    },
    messages: readMessages(page.getElementById(MESSAGES)?.textContent ?? ""),
  };
}

function block(id: string, text: string): string {
  return `<script type="application/json" id="${id}">${text}</script>\n`;
}

/** JSON without `<`, so that no end tag and no comment can stand in it. */
function safeJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

function line({ sender, time, payload, gap }: LoggedMessage): JsonObject {
  if (gap) return { sender, createdAt: time, gap: { ...gap } };
  return { sender, createdAt: time, payload: sender === "client" ? withoutSecrets(payload) : payload };
}

function withoutSecrets(payload: LoggedMessage["payload"]): LoggedMessage["payload"] {
  const method = textAt(payload, "method");
  if (!isObject(payload) || method === undefined || SHOWN_METHODS.has(method)) return payload;
  const { jsonrpc, id } = payload;
  return { jsonrpc, ...(id === undefined ? {} : { id }), method };
}
