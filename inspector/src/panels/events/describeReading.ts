/** Category, name and a hint of a message, for the list of events and its filter. */

import { REQUEST_METHODS } from "../../fold/agentRequest";
import type { Reading } from "../../fold/messageReader";
import { asList, objectAt, textAt, type JsonObject } from "../../json";

type Category = "update" | "request" | "response" | "question" | "notification" | "adapter" | "gap";

export interface Description {
  category: Category;
  name: string;
  hint: string;
}

const HINT_CHARS = 120;

export function describeReading(reading: Reading): Description {
  if (reading.kind === "gap") {
    const { oldest, newest } = reading.gap;
    return { category: "gap", name: "gap", hint: `kept ${oldest} to ${newest}` };
  }
  if (reading.kind === "malformed") {
    const hint = JSON.stringify(reading.payload).slice(0, HINT_CHARS);
    return { category: "notification", name: "not a JSON-RPC message", hint };
  }
  if (reading.kind === "answer") return describeAnswer(reading.payload);
  const { method, params, id } = reading;
  if (method === "session/update") return describeUpdate(objectAt(params, "update"));
  if (method.startsWith("_adapter/")) return { category: "adapter", name: method, hint: "" };
  if (REQUEST_METHODS.includes(method)) {
    return {
      category: "question",
      name: method,
      hint: textAt(params, "prompt") ?? textAt(params, "message") ?? "",
    };
  }
  return { category: id === undefined ? "notification" : "request", name: method, hint: promptHint(params) };
}

function describeAnswer(payload: JsonObject): Description {
  const error = objectAt(payload, "error");
  if (error) return { category: "response", name: "error", hint: textAt(error, "message") ?? "" };
  return { category: "response", name: "result", hint: textAt(payload.result, "stopReason") ?? "" };
}

function describeUpdate(update: JsonObject | undefined): Description {
  const text =
    textAt(objectAt(update, "content"), "text") ?? textAt(update, "title") ?? textAt(update, "status");
  const name = textAt(update, "sessionUpdate") ?? "session/update";
  return { category: "update", name, hint: (text ?? "").slice(0, HINT_CHARS) };
}

function promptHint(params: JsonObject): string {
  const texts = asList(params.prompt).map((block) => textAt(block, "text") ?? "");
  return texts.join(" ").slice(0, HINT_CHARS);
}
