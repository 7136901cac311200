/**
 * Universal events from ACP messages: the same events, ids included, that the Python client library derives
 * from the same messages, which shared fixtures assert. The mapper throws on no input.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import {
  asList,
  asObject,
  asText,
  isObject,
  jsonText,
  plainText,
  productMeta,
  type Json,
  type JsonObject,
} from "../../json";
import { isAcceptance } from "../acpV2";
import { REQUEST_METHODS } from "../agentRequest";
import type { RequestIds } from "../answerMeta";
import { idKey, LOGOUT_METHODS, type Reading } from "../messageReader";
import { Emitter } from "./emitter";
import { Items, readSnapshot } from "./items";
import { Messages, SLOT_OF_UPDATE, SLOT_OF_WHOLE, type Slot } from "./messages";
import { addNotice } from "./notices";
import { OpenRequests } from "./openRequests";
import { endedData, exitData, SessionState, STARTING_METHODS } from "./sessionState";
import { Tools } from "./tools";
import { TOOL_PIECES, ToolsV2 } from "./toolsV2";
import { Turns, type ErrorData } from "./turns";
import type { UniversalEvent } from "./universalEvent";

type Answer = Extract<Reading, { kind: "answer" }>;
type CallReading = Extract<Reading, { kind: "call" }>;

const PROBLEM_PREFIX = "urn:sandbox-agent:error:";
const EXTENSION = /^_(sandboxagent|adapter)\//;

export class UniversalMapper {
  private readonly out: Emitter;
  private readonly items: Items;
  private readonly messages: Messages;
  private readonly tools: Tools;
  private readonly toolsV2: ToolsV2;
  private readonly turns: Turns;
  private readonly requests: OpenRequests;
  private readonly session: SessionState;

  constructor(sessionId: string, agent: string | null = null, includeRaw = false) {
    this.out = new Emitter(sessionId, includeRaw);
    this.items = new Items(this.out);
    this.messages = new Messages(this.items);
    this.tools = new Tools(this.items);
    this.toolsV2 = new ToolsV2();
    this.turns = new Turns(this.out, this.items, this.messages, this.tools);
    this.requests = new OpenRequests(this.out, this.tools);
    this.session = new SessionState(this.out, agent);
  }

  add(reading: Reading, time: string): UniversalEvent[] {
    if (reading.kind === "gap") return [];
    if (reading.kind === "malformed") this.unparsed("not a JSON-RPC message", "message", reading.payload);
    else if (reading.kind === "answer") this.response(reading);
    else if (reading.sender === "client") this.fromClient(reading);
    else this.fromAgent(reading);
    return this.out.finish(reading.payload, time);
  }

  /** The ids of the open permission or questions of a request of the agent. */
  requestIds(requestId: Json): RequestIds {
    return this.requests.idsOf(requestId);
  }

  private fromClient({ id, method, params, payload, cancels }: CallReading): void {
    if (method === "session/prompt") {
      this.turns.start(idKey(id), params);
    } else if (method === "_session/steering") {
      this.turns.steered(params);
    } else if (STARTING_METHODS.includes(method)) {
      this.turns.abandon("the session was started again before the agent answered", "session_restarted");
      this.requests.rejectAll();
      this.session.request(method);
    } else if (method === "$/cancel_request") {
      this.updated("cancel_request", cancels ?? null, params, true);
    } else if (EXTENSION.test(method)) {
      this.notification(payload, method, params, true);
    }
  }

  private fromAgent({ method, params, payload, request }: CallReading): void {
    let understood = true;
    if (method === "session/update") {
      this.update(payload, params);
    } else if (REQUEST_METHODS.includes(method)) {
      understood = request !== undefined && this.requests.add(request, params);
    } else if (method === "$/cancel_request") {
      understood = this.requests.withdraw(params.requestId) || "requestId" in params;
    } else if (method === "elicitation/complete") {
      this.updated("elicitation_complete", asText(params.elicitationId), params);
    } else if (EXTENSION.test(method)) {
      this.notification(payload, method, params, method.startsWith("_adapter/"));
    }
    // Every other method belongs to a service of the client or to the agent's vendor: no universal event.
    if (!understood) this.unparsed(`no universal event for ${method}`, method, payload);
  }

  private update(message: JsonObject, params: JsonObject): void {
    const update = asObject(params.update);
    const kind = asText(update.sessionUpdate);
    if (kind === null) {
      this.unparsed("the update has no kind", "session/update", message);
    } else if (Object.hasOwn(SLOT_OF_UPDATE, kind)) {
      this.chunk(kind, update, message);
    } else if (Object.hasOwn(SLOT_OF_WHOLE, kind)) {
      this.wholeMessage(SLOT_OF_WHOLE[kind]!, update);
    } else if (kind === "tool_call" || kind === "tool_call_update") {
      this.tool(kind, this.toolsV2.seen(update), message);
    } else if (TOOL_PIECES.includes(kind)) {
      const ofCall = this.toolsV2.translate(update);
      if (ofCall) this.tools.update(ofCall, asText(ofCall.toolCallId) ?? "", null);
      else addNotice(this.out, this.items, kind, update);
    } else if (kind === "state_update") {
      this.toolsV2.active = true;
      addNotice(this.out, this.items, kind, update);
      if (update.state === "idle") this.turns.idle(update);
    } else {
      // A notice between two chunks of a message does not end it.
      addNotice(this.out, this.items, kind, update);
    }
  }

  private chunk(kind: string, update: JsonObject, message: JsonObject): void {
    const block = update.content;
    const slot = SLOT_OF_UPDATE[kind]!;
    if (!isObject(block) || (block.type === "text" && typeof block.text !== "string")) {
      this.unparsed("the chunk has no content block", "session/update", message);
    } else if (slot !== "user" || this.session.loading || !this.turns.isEcho(block)) {
      this.tools.showRefused();
      this.messages.chunk(slot, update, block);
    }
  }

  /** A message that replaces the one with its id (ACP v2); without content it only says that it exists. */
  private wholeMessage(slot: Slot, update: JsonObject): void {
    let blocks = asList(update.content).filter(isObject);
    if (slot === "user" && !this.session.loading)
      blocks = blocks.filter((block) => !this.turns.isEcho(block));
    if (blocks.length === 0) return;
    this.tools.showRefused();
    this.messages.replace(slot, update, blocks);
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

  /** Extension messages of the agent, of the server, or recorded by a client. */
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
    if (!final) this.unparsed("the item cannot be read", "_sandboxagent/item/completed", message);
    else if (!this.messages.finish(final) && !this.tools.finish(final)) this.items.addFinished(final);
  }

  private response({ sender, id, call, payload }: Answer): void {
    const key = idKey(id);
    if (sender === "client") {
      if (call) this.requests.answer(id, asObject(payload.result));
      else this.unparsed("an answer to no request", "response", payload);
    } else if ("error" in payload) {
      this.failure(payload, key, call?.method);
    } else if (!call) {
      this.unparsed("an answer to no request", "response", payload);
    } else if (this.turns.isOpen(key) && isAcceptance(asObject(payload.result))) {
      this.toolsV2.active = true;
      this.turns.accept(key);
    } else if (this.turns.isOpen(key)) {
      this.turns.answered(key, asObject(payload.result));
    } else if (STARTING_METHODS.includes(call.method)) {
      this.messages.closeAll("completed");
      this.tools.closeAll("completed");
      this.session.started(call.method, call.params, asObject(payload.result), true);
    } else if (call.method === "session/delete") {
      this.updated("session_delete", asText(call.params.sessionId), call.params);
    } else if (LOGOUT_METHODS.includes(call.method)) {
      this.updated("logout", null, call.params);
    }
  }

  private updated(label: string, detail: string | null, update: JsonObject, synthetic = false): void {
    this.out.emit("session.updated", { label, detail, update }, synthetic);
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
    this.requests.rejectAll();
    this.session.end(data, synthetic);
  }

  private unparsed(error: string, location: string, raw: Json): void {
    const hash = bytesToHex(sha256(utf8ToBytes(plainText(raw))));
    this.out.emit("agent.unparsed", { error, location, raw_hash: hash }, true, true);
  }
}

function codeText(code: Json | undefined): string | null {
  if (code === undefined || code === null) return null;
  return typeof code === "string" ? code : jsonText(code);
}

/** A JSON-RPC error; one that carries a problem of the server has its kind as the code. */
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
