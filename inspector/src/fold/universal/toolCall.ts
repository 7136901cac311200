/** One tool call: the merged fields of its updates, what it is called, and its output. */

import {
  asList,
  asObject,
  asText,
  isObject,
  jsonText,
  parseJson,
  type Json,
  type JsonObject,
} from "../../json";
import { blockPart, blockText, diffPart } from "./content";
import type { Item } from "./items";
import { toolNameOf } from "./meta";
import { terminalText } from "../terminalOutput";
import type { Part } from "./universalEvent";

const MERGED = ["title", "content", "locations", "rawInput", "rawOutput"];
const TERMINAL_KEYS = ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"];

export class ToolCall {
  rejected = false;
  completed = false;
  private fields: JsonObject = {};
  /** The name of the tool in the events; the first one stays. */
  private name = "";
  /** ACP's kind of tool: `other` until the agent states one. */
  private kind = "other";
  /** Output that the agent sent beside its updates. */
  private terminal = "";
  /** The agent shows the call in a terminal of its own, which may have no output. */
  private ownTerminal = false;
  /** Texts of the content that describe the call instead of showing its output. */
  private readonly described = new Set<string>();
  private askedDiffs: Json[] = [];

  constructor(
    readonly callId: string,
    readonly item: Item,
    readonly turn: number,
  ) {}

  /** Merge the first update of a call; until the tool runs, its text says what the tool will do. */
  announce(update: JsonObject): void {
    this.merge(update);
    if (update.status === "in_progress") return;
    for (const text of this.texts()) this.described.add(text);
  }

  /** Merge a permission request for the call; its diff is kept if the result shows none. */
  request(toolCall: JsonObject): void {
    // Texts are for the person who decides, and so are facts in place of the arguments of the call.
    const { content = [], rawInput, ...rest } = toolCall;
    this.merge(isEmpty(this.fields.rawInput) ? { ...rest, rawInput } : rest);
    this.askedFor(diffsOf({ content }));
  }

  /** Diffs of the permission request for the call. */
  askedFor(diffs: Json[]): void {
    if (diffs.length > 0) this.askedDiffs = diffs;
  }

  merge(update: JsonObject, final = false): void {
    for (const key of MERGED)
      if (update[key] !== undefined && update[key] !== null) this.fields[key] = update[key];
    if (this.kind === "other") this.kind = asText(update.kind) ?? this.kind;
    this.name ||= this.findName(update);
    const meta = asObject(update._meta);
    this.ownTerminal ||= TERMINAL_KEYS.some((key) => key in meta);
    this.terminal = terminalText(this.terminal, meta);
    if (!final) this.readArguments();
  }

  /** Mark the call as completed and drop what is no longer needed; long sessions have thousands. */
  finish(): void {
    this.completed = true;
    this.fields = "title" in this.fields ? { title: this.fields.title } : {};
    this.terminal = "";
    this.described.clear();
    this.askedDiffs = [];
  }

  /** The merged ACP fields. */
  facts(): JsonObject {
    const facts: JsonObject = { ...this.fields, kind: this.kind };
    if (this.name !== "") facts.name = this.name;
    return facts;
  }

  callContent(): Part[] {
    const written = "rawInput" in this.fields ? jsonText(this.fields.rawInput) : "{}";
    const title = asText(this.fields.title);
    const { name, callId: call_id, kind } = this;
    const titled = title === null ? {} : { title };
    return [{ type: "tool_call", name, arguments: written, call_id, kind, ...titled }];
  }

  /** The readable output so far. */
  output(): string {
    const texts = this.texts().filter((text) => !this.described.has(text));
    return texts.join("\n") || this.terminal;
  }

  /** Whether there is a result to show for a call without a final status. */
  hasOutput(): boolean {
    const pieces = asList(this.fields.content).length;
    return "rawOutput" in this.fields || this.output() !== "" || pieces > this.texts().length;
  }

  resultContent(): Part[] {
    const raw = this.fields.rawOutput;
    // Text comes before JSON; some agents decorate the text of the content.
    let output = asText(raw) ?? (this.output() || ownText(raw));
    let pieces = asList(this.fields.content);
    if (output === "" && raw !== undefined && !pieces.some(isDiff))
      output = typeof raw === "string" ? raw : jsonText(raw);
    if (!this.rejected && !pieces.some(isDiff)) pieces = [...pieces, ...this.askedDiffs];
    const parts: Part[] = [
      { type: "tool_result", call_id: this.callId, output: output || this.texts().join("\n") },
    ];
    for (const piece of pieces) {
      const part = this.part(piece);
      if (part) parts.push(part);
    }
    if (this.kind === "read") {
      for (const place of asList(this.fields.locations)) {
        const path = asText(asObject(place).path);
        if (path) parts.push({ type: "file_ref", path, action: "read", diff: null });
      }
    }
    return parts;
  }

  /** The name that the agent states, else a title that is one word, else the kind of tool. */
  private findName(update: JsonObject): string {
    const title = asText(update.title) ?? "";
    const stated = toolNameOf(update);
    if (stated !== null) return stated;
    const files = asList(this.fields.locations).map((place) => asText(asObject(place).path));
    // A title can also be a file or all of the command.
    const isFile = files.some((path) => path === title || path?.endsWith(`/${title}`));
    const oneWord = /^[\p{L}\p{N}_.-]+$/u.test(title) && !isFile && !repeats(title, this.fields.rawInput);
    if (oneWord || this.kind === null || this.kind === "other") return title;
    return this.kind;
  }

  /** Find the texts that are no output; complete arguments among them count if no others are known. */
  private readArguments(): void {
    for (const text of this.texts()) {
      if (!repeats(text, this.fields.rawInput)) continue;
      this.described.add(text);
      const written = parseJson(text);
      if (isEmpty(this.fields.rawInput) && isObject(written)) this.fields.rawInput = written;
    }
  }

  private texts(): string[] {
    const texts = asList(this.fields.content).map((content) => blockText(asObject(content).content));
    return texts.filter((text) => text !== null);
  }

  /** The part for one piece of content; text and the agent's own terminals are already in the output. */
  private part(content: Json): Part | null {
    const fields = asObject(content);
    if (isDiff(content)) return diffPart(fields);
    if (fields.type === "content" && isObject(fields.content)) {
      return blockText(fields.content) === null ? blockPart(fields.content) : null;
    }
    return fields.type === "terminal" && this.ownTerminal ? null : { type: "json", json: content };
  }
}

/** The diffs in the content of a call. */
export function diffsOf(toolCall: JsonObject): Json[] {
  return asList(toolCall.content).filter(isDiff);
}

/** The text that some agents put into `rawOutput` beside facts about it, or the result of an MCP tool. */
function ownText(raw: Json | undefined): string {
  const fields = asObject(raw);
  const text = asText(fields.output) || asText(fields.content);
  if (text) return text;
  const texts = asList(asObject(fields.result).content).map(blockText);
  if (texts.includes(null)) return ""; // The JSON shows pictures and resources too.
  return texts.filter((one) => one).join("\n") || (asText(asObject(fields.error).message) ?? "");
}

function isDiff(content: Json): boolean {
  return asObject(content).type === "diff";
}

function strings(value: Json | undefined): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(strings);
  return isObject(value) ? Object.values(value).flatMap(strings) : [];
}

function isEmpty(input: Json | undefined): boolean {
  return input === undefined || (isObject(input) && Object.keys(input).length === 0);
}

/** Whether text of a running call is part of its arguments, or all of them as JSON, maybe incomplete. */
function repeats(text: string, input: Json | undefined): boolean {
  if (isEmpty(input)) return text.startsWith("{");
  if (strings(input).some((value) => value.trim() === text.trim())) return true;
  return text.startsWith("{") && jsonText(parseJson(text)) === jsonText(input);
}
