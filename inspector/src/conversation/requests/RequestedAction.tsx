/** What an agent asks permission for: the change, the command, the places; the rest of the input as JSON. */

import type { ToolCallContent, ToolCallLocation } from "@agentclientprotocol/sdk";
import type { FilePatch } from "../../fold/chat/conversation";
import { asObject, asText, isObject, listAt, plainText, type Json, type JsonObject } from "../../json";
import { CodeBlock } from "../../markdown/CodeBlock";
import { pretty } from "../../ui/format";
import { DiffView } from "../tools/DiffView";
import { ToolText } from "../tools/ToolText";
import { Locations, placesBeside } from "../rows/PathLink";

/** Input that is shown in a form of its own. */
const SHOWN_KEYS = ["command", "cmd", "description", "cwd", "workdir"];

export function RequestedAction({ toolCall }: { toolCall: JsonObject }) {
  const input = asObject(toolCall.rawInput);
  const content = listAt(toolCall, "content").filter(isObject) as unknown as (ToolCallContent | FilePatch)[];
  const locations = listAt(toolCall, "locations").filter(isObject) as unknown as ToolCallLocation[];
  const diffs = content.filter((one) => one.type === "diff");
  const texts = content.flatMap((one) =>
    one.type === "content" && one.content.type === "text" ? [one.content.text] : [],
  );
  const edit = diffs.length === 0 ? editOf(input) : undefined;
  const command = commandOf(input);
  const shown = new Set<Json>([
    ...texts,
    ...diffs.flatMap((diff) =>
      "newText" in diff ? [diff.path, diff.newText, diff.oldText ?? null] : [diff.path],
    ),
  ]);
  const rest = Object.entries(input).filter(
    ([key, value]) => !SHOWN_KEYS.includes(key) && !edit?.keys.includes(key) && !shown.has(value ?? null),
  );
  const directory = asText(input.cwd) ?? asText(input.workdir);
  return (
    <div className="requested-action">
      {asText(input.description) && <p>{asText(input.description)}</p>}
      {command !== "" && <CodeBlock language="bash" text={command} continued={false} whole={() => command} />}
      {directory && (
        <p className="muted small-text">
          in <code>{directory}</code>
        </p>
      )}
      {diffs.map((diff, index) => (
        <DiffView key={index} diff={diff} />
      ))}
      {edit && <DiffView diff={edit.diff} />}
      {texts.map((text, index) => (
        <ToolText key={index} text={text} />
      ))}
      <Locations locations={placesBeside(locations, edit ? [...diffs, edit.diff] : diffs)} />
      {rest.length > 0 && (
        <details open={command === "" && diffs.length === 0 && !edit}>
          <summary>Input</summary>
          <pre className="json" tabIndex={0} aria-label="What the tool would do">
            {pretty(Object.fromEntries(rest))}
          </pre>
        </details>
      )}
      {toolCall.rawInput !== undefined && toolCall.rawInput !== null && !isObject(toolCall.rawInput) && (
        <pre className="json" tabIndex={0}>
          {pretty(toolCall.rawInput)}
        </pre>
      )}
    </div>
  );
}

/** The command that a tool would run; empty if it runs none. */
export function commandOf(input: JsonObject): string {
  const command = input.command ?? input.cmd;
  if (Array.isArray(command)) return command.map(plainText).join(" ");
  return typeof command === "string" ? command : "";
}

/** A change that the agent describes in the input of its tool only. */
function editOf(input: JsonObject) {
  const path = asText(input.file_path) ?? asText(input.filePath) ?? asText(input.path);
  if (path === null) return undefined;
  const pairs = [
    ["old_string", "new_string"],
    ["oldString", "newString"],
    ["", "content"],
  ] as const;
  for (const [before, after] of pairs) {
    const [oldText, newText] = [input[before], input[after]];
    if (typeof newText !== "string" || (before !== "" && typeof oldText !== "string")) continue;
    const diff = { path, oldText: typeof oldText === "string" ? oldText : null, newText };
    return {
      diff: { type: "diff", ...stable(input, diff) },
      keys: ["file_path", "filePath", "path", before, after],
    };
  }
  return undefined;
}

/** The same object for the same input: a diff is computed once for each object. */
const known = new WeakMap<JsonObject, { path: string; oldText: string | null; newText: string }>();

function stable(input: JsonObject, diff: { path: string; oldText: string | null; newText: string }) {
  const before = known.get(input);
  if (before) return before;
  known.set(input, diff);
  return diff;
}
