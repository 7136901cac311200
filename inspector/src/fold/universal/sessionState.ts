/** The session as a whole: when it started, how it ended. */

import { asInteger, asObject, asText, isObject, productMeta, type Json, type JsonObject } from "../../json";
import type { Emitter } from "./emitter";

export const STARTING_METHODS = ["session/new", "session/load", "session/resume", "session/fork"];
const HEAD_LINES = 20;
const TAIL_LINES = 50;

export class SessionState {
  ended = false;
  loading = false;
  private live = false;
  private starts = 0;

  constructor(
    private readonly out: Emitter,
    private readonly agent: string | null,
  ) {}

  request(method: string): void {
    this.loading = method === "session/load";
    this.live = false;
  }

  started(method: string, params: JsonObject, result: JsonObject, synthetic: boolean): void {
    if (synthetic) this.loading = false;
    this.out.nativeSessionId =
      asText(result.sessionId) ?? asText(params.sessionId) ?? this.out.nativeSessionId;
    if (this.live) return;
    this.live = true;
    this.ended = false;
    const metadata: JsonObject = {
      agent: this.agent ?? asText(productMeta(params).agent),
      cwd: asText(params.cwd),
      modes: result.modes ?? null,
      configOptions: result.configOptions ?? null,
      method,
    };
    const connection = asText(productMeta(params).connectionId);
    if (connection !== null) metadata.connectionId = connection;
    if (this.starts > 0 || method === "session/load" || method === "session/resume") metadata.restored = true;
    this.starts += 1;
    this.out.emit("session.started", { metadata }, synthetic);
  }

  end(data: JsonObject, synthetic: boolean): void {
    this.live = false;
    this.ended = true;
    this.out.emit("session.ended", data, synthetic);
  }
}

/** The payload of `_sandboxagent/session/ended`, flat or under `data`. */
export function endedData(params: JsonObject, byClient: boolean): JsonObject {
  const payload: JsonObject = { ...params, ...asObject(params.data) };
  const reason = ["completed", "error", "terminated"].includes(payload.reason as string)
    ? payload.reason!
    : byClient
      ? "terminated"
      : "completed";
  const by = ["agent", "daemon"].includes(payload.terminated_by as string)
    ? payload.terminated_by!
    : byClient
      ? "daemon"
      : "agent";
  if (reason !== "error") return { reason, terminated_by: by };
  return withoutNulls({
    reason,
    terminated_by: by,
    message: asText(payload.message),
    exit_code: asInteger(payload.exit_code),
    stderr: stderr(payload.stderr),
  });
}

/** The end of the session that the end of its process means. */
export function exitData(params: JsonObject): JsonObject {
  if (params.success === true) return { reason: "completed", terminated_by: "agent" };
  const { signal } = params;
  const named = (typeof signal === "string" || typeof signal === "number") && signal;
  return withoutNulls({
    reason: "error",
    terminated_by: "agent",
    message: named ? `the agent was ended by ${named}` : null,
    exit_code: asInteger(params.code),
    stderr: stderr(params.stderr),
  });
}

function stderr(value: Json | undefined): JsonObject | null {
  if (isObject(value)) {
    return withoutNulls({
      head: asText(value.head),
      tail: asText(value.tail),
      truncated: value.truncated === true,
      total_lines: asInteger(value.total_lines),
    });
  }
  if (typeof value !== "string" || value === "") return null;
  const lines = value.replace(/\n$/, "").split("\n");
  if (lines.length <= HEAD_LINES + TAIL_LINES)
    return { head: value, truncated: false, total_lines: lines.length };
  return {
    head: lines.slice(0, HEAD_LINES).join("\n"),
    tail: lines.slice(-TAIL_LINES).join("\n"),
    truncated: true,
    total_lines: lines.length,
  };
}

function withoutNulls(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
