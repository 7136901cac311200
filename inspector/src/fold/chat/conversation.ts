/** The conversation as the chat shows it, derived from the messages of a log by `ConversationFold`. */

import type {
  AuthMethod,
  AvailableCommand,
  ContentBlock,
  PlanEntry,
  SessionConfigOption,
  SessionModeState,
  ToolCallContent,
  ToolCallLocation,
} from "@agentclientprotocol/sdk";
import type { Gap } from "../../api/instanceReader";
import type { Json, JsonObject } from "../../json";
import type { AgentRequest } from "../agentRequest";

interface ItemBase {
  /** The item's index in the conversation; also the React key. */
  key: string;
  /** Position of the first message of the item, to jump to the raw event. */
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
  /** Time of its last part. */
  endedAt?: number;
}

/** The change of one file as a patch: ACP v2 has no texts from before and after. */
export interface FilePatch {
  type: "diff";
  path: string;
  patch: string;
}

export interface ToolItem extends ItemBase {
  kind: "tool";
  toolCallId: string;
  /** How many tool calls of sub-agents this one is inside of. */
  depth: number;
  title: string;
  toolKind: string;
  status: "pending" | "in_progress" | "completed" | "failed" | "interrupted";
  rawInput?: Json;
  rawOutput?: Json;
  content: (ToolCallContent | FilePatch)[];
  locations: ToolCallLocation[];
  /** Its permission is open, and the card of that shows what it would do. */
  isAskedFor?: boolean;
  endedAt?: number;
  /** Output of a command that the agent ran in a terminal of its own. */
  terminal?: { text: string; exitCode?: number };
}

export interface PlanItem extends ItemBase {
  kind: "plan";
  entries: PlanEntry[];
}

export type RequestState = "pending" | "answered" | "rejected" | "stale";

export interface RequestItem extends ItemBase {
  kind: "request";
  request: AgentRequest;
  state: RequestState;
  /** The answer as the card shows it. */
  answer?: string;
  /** The turn or the process of a stale request is over, so it cannot be answered. */
  closed?: boolean;
  /** When it stopped waiting. */
  endedAt?: number;
}

export interface NoteItem extends ItemBase {
  kind: "note";
  level: "info" | "warning" | "error";
  label: string;
  detail?: string;
}

interface GapItem extends ItemBase {
  kind: "gap";
  gap: Gap;
}

export interface TurnEndItem extends ItemBase {
  kind: "turn-end";
  stopReason: string;
  durationMs: number;
  tokens?: number;
  /** Absent if the agent reported none in this turn. */
  cost?: Cost;
}

export type Item = MessageItem | ToolItem | PlanItem | RequestItem | NoteItem | GapItem | TurnEndItem;

/** An item without what the conversation adds. */
export type NewItem<T = Item> = T extends Item ? Omit<T, keyof ItemBase> : never;

export interface Cost {
  amount: number;
  currency: string;
}

export interface Usage {
  used?: number;
  size?: number;
  /** Sum of the session, as the agent reports it. */
  cost?: Cost;
  /** Sum over all turns that reported it. */
  totalTokens?: number;
}

export interface Turn {
  requestId: string;
  sessionId: string;
  startedAt: number;
  /** The agent has accepted the prompt (ACP v2) and tells later that the turn is over. */
  isAccepted?: boolean;
}

/** A snapshot: a new object for every batch of messages, never changed afterwards. */
export interface Conversation {
  items: readonly Item[];
  /** Requests that wait for the user, oldest first. */
  pendingRequests: readonly RequestItem[];
  /** Sessions seen in this log, in order of appearance. */
  sessionIds: readonly string[];
  turns: readonly Turn[];
  /** How many turns have ended. */
  endedTurns: number;
  /** The time of the ended turns together, in milliseconds. */
  turnsMs: number;
  /** How many prompts this browser has sent. */
  sentPrompts: number;
  /** How the last turn ended. */
  lastStop?: string;
  modes?: SessionModeState;
  configOptions: SessionConfigOption[];
  commands: AvailableCommand[];
  usage: Usage;
  title?: string;
  /** First line of the first prompt, a title for sessions that the agent gave none. */
  firstPrompt?: string;
  /** The latest event that a screen reader announces: a request, the end of a turn, an error. */
  announcement?: string;
  agentInfo?: { name: string; version?: string };
  agentCapabilities?: JsonObject;
  /** How the agent can be logged in. */
  authMethods: AuthMethod[];
  /** The last prompt was refused because the agent is not logged in. */
  needsLogin: boolean;
  exited?: { code: number | null; success: boolean };
}

export const EMPTY_CONVERSATION: Conversation = {
  items: [],
  pendingRequests: [],
  sessionIds: [],
  turns: [],
  endedTurns: 0,
  turnsMs: 0,
  sentPrompts: 0,
  configOptions: [],
  commands: [],
  usage: {},
  authMethods: [],
  needsLogin: false,
};
