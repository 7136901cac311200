/** The conversation: what a person sees, derived from the messages of a log by `reduce.ts`. */

import type {
  AvailableCommand,
  ContentBlock,
  PlanEntry,
  SessionConfigOption,
  SessionModeState,
  ToolCallContent,
  ToolCallLocation,
} from "@agentclientprotocol/sdk";
import type { Gap } from "../api/eventStream";
import type { Json, JsonObject } from "../json";
import type { AgentRequest, RequestState } from "./requests";

interface ItemBase {
  /** Stable for the life of the item; also the React key. */
  key: string;
  /** Position of the first message it came from, to jump to the raw event. */
  n: number;
  time: number;
}

export interface MessageItem extends ItemBase {
  kind: "message" | "thought";
  role: "user" | "assistant";
  text: string;
  /** Blocks that are not text, in order. */
  attachments: ContentBlock[];
  messageId?: string;
}

export interface ToolItem extends ItemBase {
  kind: "tool";
  toolCallId: string;
  title: string;
  toolKind: string;
  status: "pending" | "in_progress" | "completed" | "failed";
  rawInput?: Json;
  rawOutput?: Json;
  content: ToolCallContent[];
  locations: ToolCallLocation[];
  endedAt?: number;
  /** Output of a command that the agent ran in a terminal of its own. */
  terminal?: { text: string; exitCode?: number };
}

export interface PlanItem extends ItemBase {
  kind: "plan";
  entries: PlanEntry[];
}

export interface RequestItem extends ItemBase {
  kind: "request";
  request: AgentRequest;
  state: RequestState;
  /** The answer, in words. */
  answer?: string;
  /** Stale for good: the turn or the process it belongs to is over. */
  closed?: boolean;
}

export interface NoteItem extends ItemBase {
  kind: "note";
  level: "info" | "warning" | "error";
  label: string;
  detail?: string;
}

export interface GapItem extends ItemBase {
  kind: "gap";
  gap: Gap;
}

export interface TurnEndItem extends ItemBase {
  kind: "turn-end";
  stopReason: string;
  durationMs: number;
}

export type Item = MessageItem | ToolItem | PlanItem | RequestItem | NoteItem | GapItem | TurnEndItem;

export interface Usage {
  used?: number;
  size?: number;
  cost?: string;
  totalTokens?: number;
}

export interface Turn {
  requestId: string;
  sessionId: string;
  startedAt: number;
}

export interface Conversation {
  items: Item[];
  /** Sessions seen in this log, in order of appearance. */
  sessionIds: string[];
  turns: Turn[];
  /** How many turns have ended. */
  endedTurns: number;
  modes?: SessionModeState;
  configOptions: SessionConfigOption[];
  commands: AvailableCommand[];
  usage: Usage;
  title?: string;
  agentInfo?: { name: string; version?: string };
  agentCapabilities?: JsonObject;
  exited?: { code: number | null; success: boolean };
}
