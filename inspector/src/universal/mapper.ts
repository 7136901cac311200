/**
 * ACP messages in, universal events out: the same events, ids included, that the Python client library
 * derives from the same messages. Shared fixtures hold both to that. It never throws on what it is fed.
 */

import { isObject, type Json, type JsonObject } from "../json";
import { Emitter } from "./emitter";
import type { UniversalEvent } from "./events";
import { Human } from "./human";
import { Items, readSnapshot } from "./items";
import { Messages, SLOT_OF_UPDATE } from "./messages";
import { productMeta } from "./meta";
import { asObject, asText, jsonText } from "./reading";
import { endedData, exitData, SessionState, STARTING_METHODS } from "./sessionState";
import { sha256 } from "./sha256";
import { addNotice } from "./status";
import { Tools } from "./tools";
import { Turns, type ErrorData } from "./turns";

type Direction = "client" | "agent";

const PROBLEM_PREFIX = "urn:sandbox-agent:error:";

/** Methods of the agent that serve the client's machinery; there is no event for them. */
const PLUMBING = new Set([
  "fs/read_text_file",
  "fs/write_text_file",
  "terminal/create",
  "terminal/output",
  "terminal/release",
  "terminal/wait_for_exit",
  "terminal/kill",
  "elicitation/complete",
  "mcp/connect",
  "mcp/message",
  "mcp/disconnect",
]);

export class UniversalMapper {
  private readonly out: Emitter;
  private readonly items: Items;
  private readonly messages: Messages;
  private readonly tools: Tools;
  private readonly turns: Turns;
  private readonly human: Human;
  private readonly session: SessionState;
  private readonly calls = new Map<string, { method: string; params: JsonObject }>();

  constructor(sessionId: string, agent: string | null = null, includeRaw = false) {
    this.out = new Emitter(sessionId, includeRaw);
    this.items = new Items(this.out);
    this.messages = new Messages(this.items);
    this.tools = new Tools(this.items);
    this.turns = new Turns(this.out, this.items, this.messages, this.tools);
    this.human = new Human(this.out, this.tools);
    this.session = new SessionState(this.out, agent);
  }

  feed(message: Json, direction: Direction, time: string): UniversalEvent[] {
    this.read(message, direction);
    return this.out.finish(message, time);
  }

  private read(message: Json, direction: Direction): void {
    const fields = asObject(message);
    if (typeof fields.method === "string") {
      const params = asObject(fields.params);
      if ("id" in fields)
        this.calls.set(`${direction} ${jsonText(fields.id)}`, { method: fields.method, params });
      if (direction === "client") this.fromClient(fields, fields.method, params);
      else this.fromAgent(fields, fields.method, params);
    } else if ("id" in fields && ("result" in fields || "error" in fields)) {
      this.response(fields, direction);
    } else {
      this.unparsed("not a JSON-RPC message", "message", message);
    }
  }

  private fromClient(message: JsonObject, method: string, params: JsonObject): void {
    if (method === "session/prompt") {
      this.turns.start(jsonText(message.id), params);
    } else if (STARTING_METHODS.includes(method)) {
      this.turns.abandon("the session was started again before the agent answered", "session_restarted");
      this.human.rejectAll();
      this.session.request(method);
    } else if (/^_(sandboxagent|adapter)\//.test(method)) {
      this.notification(message, method, params, true);
    }
  }

  private fromAgent(message: JsonObject, method: string, params: JsonObject): void {
    const id = message.id ?? null;
    let understood = true;
    if (method === "session/update") this.update(message, params);
    else if (method === "session/request_permission")
      understood = "id" in message && this.human.requestPermission(id, params);
    else if (method === "_sandboxagent/session/request_question")
      understood = "id" in message && this.human.requestQuestion(id, params);
    else if (method === "elicitation/create")
      understood = "id" in message && this.human.requestForm(id, params);
    else if (method === "$/cancel_request")
      understood = this.human.withdraw(params.requestId) || "requestId" in params;
    else if (/^_(sandboxagent|adapter)\//.test(method))
      this.notification(message, method, params, method.startsWith("_adapter/"));
    else understood = PLUMBING.has(method);
    if (!understood) this.unparsed(`no universal event for ${method}`, method, message);
  }

  private update(message: JsonObject, params: JsonObject): void {
    const update = asObject(params.update);
    const kind = asText(update.sessionUpdate);
    if (kind === null) {
      this.unparsed("the update has no kind", "session/update", message);
    } else if (Object.hasOwn(SLOT_OF_UPDATE, kind)) {
      this.chunk(kind, update, message);
    } else if (kind === "tool_call" || kind === "tool_call_update") {
      this.tool(kind, update, message);
    } else {
      this.messages.endRuns();
      addNotice(this.items, kind, update);
    }
  }

  private chunk(kind: string, update: JsonObject, message: JsonObject): void {
    const block = update.content;
    const slot = SLOT_OF_UPDATE[kind]!;
    if (!isObject(block) || (block.type === "text" && typeof block.text !== "string")) {
      this.unparsed("the chunk has no content block", "session/update", message);
    } else if (slot !== "user" || this.session.loading || !this.turns.isEcho(block)) {
      this.messages.chunk(slot, update, block);
    }
  }

  private tool(kind: string, update: JsonObject, message: JsonObject): void {
    const callId = asText(update.toolCallId);
    if (callId === null) {
      this.unparsed("the tool call has no id", "session/update", message);
      return;
    }
    const parentId = this.messages.openAssistantId;
    this.messages.endRuns();
    if (kind === "tool_call") this.tools.call(update, callId, parentId);
    else this.tools.update(update, callId, parentId);
  }

  /** Extension messages: from the agent, from the server, or noted by a client itself. */
  private notification(message: JsonObject, method: string, params: JsonObject, synthetic: boolean): void {
    const payload: JsonObject = { ...params, ...asObject(params.data) };
    if (method === "_sandboxagent/session/started") {
      this.session.started(method, params, params, false);
    } else if (method === "_sandboxagent/session/ended") {
      this.end(endedData(params, synthetic), synthetic);
    } else if (method === "_adapter/agent_exited") {
      this.end(exitData(params), true);
    } else if (method === "_sandboxagent/item/completed") {
      this.itemCompleted(message, params);
    } else if (method === "_sandboxagent/error" && typeof payload.message === "string") {
      const code = codeText(payload.code);
      this.out.emit("error", { message: payload.message, code, details: payload.details ?? null }, synthetic);
    } else if (method === "_sandboxagent/agent/unparsed" && typeof payload.error === "string") {
      const data = {
        error: payload.error,
        location: asText(payload.location) ?? "",
        raw_hash: asText(payload.raw_hash),
      };
      this.out.emit("agent.unparsed", data, synthetic, true);
    } else if (method === "_adapter/invalid_stdout" && typeof params.raw === "string") {
      this.unparsed(asText(params.error) ?? "not JSON", "stdout", params.raw);
    } else {
      this.unparsed(`no universal event for ${method}`, method, message);
    }
  }

  private itemCompleted(message: JsonObject, params: JsonObject): void {
    const places = [params.item, asObject(params.data).item, productMeta(params).item, params];
    const final = places.map(readSnapshot).find((snapshot) => snapshot !== null);
    if (!final) this.unparsed("the item cannot be read", String(message.method), message);
    else if (!this.messages.finish(final) && !this.tools.finish(final)) this.items.arrivedWhole(final);
  }

  private response(message: JsonObject, direction: Direction): void {
    const key = jsonText(message.id);
    const callKey = `${direction === "client" ? "agent" : "client"} ${key}`;
    const call = this.calls.get(callKey);
    this.calls.delete(callKey);
    if (direction === "client") {
      if (call) this.human.answer(message.id ?? null, asObject(message.result));
      else this.unparsed("an answer to no request", "response", message);
    } else if ("error" in message) {
      this.failure(message, key, call?.method);
    } else if (!call) {
      this.unparsed("an answer to no request", "response", message);
    } else if (this.turns.isOpen(key)) {
      this.turns.answered(key, asObject(message.result));
    } else if (STARTING_METHODS.includes(call.method)) {
      this.messages.closeAll("completed");
      this.tools.closeAll("completed");
      this.session.started(call.method, call.params, asObject(message.result), true);
    }
  }

  private failure(message: JsonObject, key: string, method: string | undefined): void {
    const { error, synthetic } = readError(message.error);
    if (method === "session/load") this.session.loading = false;
    if (this.turns.isOpen(key)) this.turns.failed(key, error, synthetic);
    else this.out.emit("error", error, synthetic);
  }

  private end(data: JsonObject, synthetic: boolean): void {
    if (this.session.ended) return;
    const code = data.terminated_by === "agent" ? "agent_process_exited" : "session_ended";
    this.turns.abandon("the session ended before the agent answered", code);
    this.human.rejectAll();
    this.session.end(data, synthetic);
  }

  private unparsed(error: string, location: string, raw: Json): void {
    const hash = sha256(typeof raw === "string" ? raw : jsonText(raw));
    this.out.emit("agent.unparsed", { error, location, raw_hash: hash }, true, true);
  }
}

function codeText(code: Json | undefined): string | null {
  if (code === undefined || code === null) return null;
  return typeof code === "string" ? code : jsonText(code);
}

/** A JSON-RPC error; a late failure of the server gives what its status code would. */
function readError(error: Json | undefined): { error: ErrorData; synthetic: boolean } {
  const fields = asObject(error);
  const message = asText(fields.message) ?? jsonText(error);
  const data = fields.data ?? null;
  const kept = productMeta(data);
  const problem = asText(asObject(data).type) ?? "";
  if (problem.startsWith(PROBLEM_PREFIX)) {
    return { error: { message, code: problem.slice(PROBLEM_PREFIX.length), details: data }, synthetic: true };
  }
  const code =
    fields.code === undefined || fields.code === null
      ? null
      : codeText("code" in kept ? kept.code : fields.code);
  return {
    error: { message, code, details: "details" in kept ? (kept.details ?? null) : data },
    synthetic: false,
  };
}
