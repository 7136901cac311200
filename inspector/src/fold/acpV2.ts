/**
 * ACP v2 (draft) in the terms of v1, so that chat and universal events read both versions with one code. What
 * v2 adds is recognised by its form: a session never says its version again.
 */

import { asList, asObject, asText, isObject, type Json, type JsonObject } from "../json";

/** An answer that only accepts a prompt; `state_update` tells when its turn ends. */
export function isAcceptance(result: JsonObject): boolean {
  return "messageId" in result && !("stopReason" in result);
}

/**
 * The parameters of a message of the agent: a permission has a `toolCall`, and a diff names one file. The `title`
 * of a permission stays where it is: it is the question of this request and not the title of the call.
 */
export function withV1Names(method: string, params: JsonObject): JsonObject {
  if (method === "session/request_permission") return permissionParams(params);
  const { update } = params;
  if (method !== "session/update" || !isObject(update) || !Array.isArray(update.content)) return params;
  return { ...params, update: withDiffsOfFiles(update) };
}

function permissionParams(params: JsonObject): JsonObject {
  if ("toolCall" in params || typeof params.title !== "string") return params;
  const subject = asObject(params.subject);
  const call = subject.type === "command" ? commandCall(subject) : asObject(subject.toolCall);
  return { ...params, toolCall: withDiffsOfFiles(call) };
}

function commandCall({ toolCallId, command, cwd }: JsonObject): JsonObject {
  const rawInput = { ...(command === undefined ? {} : { command }), ...(cwd === undefined ? {} : { cwd }) };
  return { toolCallId: toolCallId ?? null, kind: "execute", rawInput };
}

/** A tool call whose diffs name one file each, with the part of the patch that changes it. */
export function withDiffsOfFiles(update: JsonObject): JsonObject {
  const content = asList(update.content);
  if (!content.some((one) => "changes" in asObject(one))) return update;
  return { ...update, content: content.flatMap(diffsOfFiles) };
}

function diffsOfFiles(content: Json): Json[] {
  const { changes, patch } = asObject(content);
  if (!Array.isArray(changes)) return [content];
  const text = asText(asObject(patch).text) ?? "";
  const sections = text.split(/(?=^diff --git )/m).filter((section) => section !== "");
  const isOneEach = sections.length === changes.length;
  return changes.map(asObject).map((change, index) => ({
    type: "diff",
    path: asText(change.newPath) ?? asText(change.path),
    operation: change.operation ?? null,
    patch: isOneEach ? sections[index]! : text,
  }));
}

/**
 * What an update of a terminal of the agent says about its output, in `_meta` as agents of v1 have it: a chunk
 * is added, an `output` is the whole. Undefined if it says nothing about it.
 */
export function terminalMeta(update: JsonObject): JsonObject | undefined {
  const isChunk = update.sessionUpdate === "terminal_output_chunk";
  const data = decoded(isChunk ? update.data : asObject(update.output).data);
  const ended = asObject(update.exitStatus);
  const hasEnded = Object.keys(ended).length > 0;
  if (!data && !hasEnded) return undefined;
  const key = isChunk ? "terminal_output_delta" : "terminal_output";
  return { ...(data ? { [key]: { data } } : {}), ...(hasEnded ? { terminal_exit: ended } : {}) };
}

/** The output of terminals that no tool call shows yet. */
export class WaitingOutput {
  private readonly texts = new Map<string, string>();

  add(terminalId: string, meta: JsonObject): void {
    const whole = asText(asObject(meta.terminal_output).data);
    const added = asText(asObject(meta.terminal_output_delta).data) ?? "";
    this.texts.set(terminalId, whole ?? (this.texts.get(terminalId) ?? "") + added);
  }

  /** A tool call with what its terminals have written before it showed them. */
  taken(update: JsonObject): JsonObject {
    let data = "";
    for (const one of asList(update.content).map(asObject)) {
      const terminalId = one.type === "terminal" ? asText(one.terminalId) : null;
      if (terminalId === null) continue;
      data += this.texts.get(terminalId) ?? "";
      this.texts.delete(terminalId);
    }
    if (!data) return update;
    return { ...update, _meta: { ...asObject(update._meta), terminal_output_delta: { data } } };
  }
}

function decoded(data: Json | undefined): string {
  try {
    const bytes = Uint8Array.from(atob(asText(data) ?? ""), (character) => character.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    return "";
  }
}
