/** Universal events: the agent-neutral record of a session, in the JSON of the client library. */

import type { Json, JsonObject } from "../../json";

export type ItemStatus = "in_progress" | "completed" | "failed";

export type Part =
  | { type: "text"; text: string }
  | { type: "json"; json: Json }
  | { type: "tool_call"; name: string; arguments: string; call_id: string; kind?: string; title?: string }
  | { type: "tool_result"; call_id: string; output: string }
  | { type: "file_ref"; path: string; action: "read" | "write" | "patch"; diff: string | null }
  | { type: "reasoning"; text: string; visibility: "public" | "private" }
  | { type: "image"; path: string; mime: string | null }
  | { type: "status"; label: string; detail: string | null };

export interface UniversalItem {
  item_id: string;
  native_item_id: string | null;
  parent_id: string | null;
  kind: string;
  role: string | null;
  content: Part[];
  status: ItemStatus;
}

export interface UniversalEvent {
  event_id: string;
  sequence: number;
  time: string;
  session_id: string;
  native_session_id: string | null;
  synthetic: boolean;
  source: string;
  type: string;
  data: JsonObject;
  raw: Json;
}
