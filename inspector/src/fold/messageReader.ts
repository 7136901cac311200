/**
 * Reads each message of a log once: which kind of JSON-RPC message it is, which call it answers and which
 * decision it asks for. The chat, the universal events and the Events panel all work on this reading.
 */

import type { Gap } from "../api/instanceReader";
import { asObject, isObject, jsonText, type Json, type JsonObject } from "../json";
import { withV1Names } from "./acpV2";
import { readAgentRequest, type AgentRequest } from "./agentRequest";
import type { Sender } from "./message";

/** Of ACP v1 and of v2. */
export const LOGOUT_METHODS = ["logout", "auth/logout"];

export interface Call {
  method: string;
  /** In the terms of ACP v1; the payload has them as they were sent. */
  params: JsonObject;
  /** Set if the agent asks for a decision of the user. */
  request?: AgentRequest;
  /** The method of the request that a `$/cancel_request` names, if that has no answer yet. */
  cancels?: string;
}

export type Reading =
  | (Call & {
      kind: "call";
      sender: Sender;
      payload: JsonObject;
      /** Absent for a notification. */ id?: Json;
    })
  | {
      kind: "answer";
      sender: Sender;
      payload: JsonObject;
      id: Json;
      /** The call that it answers, if the log has it. */
      call?: Call;
      result?: Json;
      error?: Json;
    }
  | { kind: "malformed"; sender: Sender; payload: Json }
  | { kind: "gap"; sender: Sender; payload: Json; gap: Gap };

/** A key that keeps ids of different JSON types apart: `1` and `"1"` are two requests. */
export function idKey(id: Json | undefined): string {
  return jsonText(id);
}

export class MessageReader {
  private readonly calls = new Map<string, Call>();

  read(message: { sender: Sender; payload: Json; gap?: Gap }): Reading {
    const { sender, payload, gap } = message;
    if (gap) return { kind: "gap", sender, payload, gap };
    if (!isObject(payload)) return { kind: "malformed", sender, payload };
    if (typeof payload.method === "string") return this.call(sender, payload, payload.method);
    if (payload.id !== undefined && ("result" in payload || "error" in payload)) {
      const { id, result, error } = payload;
      const key = `${sender === "client" ? "agent" : "client"} ${idKey(id)}`;
      const call = this.calls.get(key);
      this.calls.delete(key);
      return { kind: "answer", sender, payload, id, call, result, error };
    }
    return { kind: "malformed", sender, payload };
  }

  private call(sender: Sender, payload: JsonObject, method: string): Reading {
    const { id } = payload;
    const params = asObject(payload.params);
    const call: Call = { method, params: sender === "agent" ? withV1Names(method, params) : params };
    if (method === "$/cancel_request")
      call.cancels = this.calls.get(`${sender} ${idKey(params.requestId)}`)?.method;
    if (id !== undefined) {
      if (sender === "agent") call.request = readAgentRequest(id, method, call.params);
      this.calls.set(`${sender} ${idKey(id)}`, call);
    }
    return { kind: "call", sender, payload, id, ...call };
  }
}
