/** Updates besides messages and tools: some are items, facts about the session are `session.updated`. */

import { asInteger, asList, asObject, asText, plainText, type JsonObject } from "../../json";
import type { Emitter } from "./emitter";
import type { Items } from "./items";
import { itemFacts } from "./meta";

const LONGEST_DETAIL = 200;

function progress(plan: JsonObject): string {
  const entries = asList(plan.entries).map(asObject);
  return `${entries.filter((entry) => entry.status === "completed").length} of ${entries.length} done`;
}

const DETAIL: Record<string, (update: JsonObject) => string | null> = {
  plan: progress,
  plan_update: (update) => {
    const plan = asObject(update.plan);
    return plan.type === "items" ? progress(plan) : (asText(plan.planId) ?? asText(plan.type));
  },
  plan_removed: (update) => asText(update.planId),
  usage_update: (update) => {
    const [used, size] = [asInteger(update.used), asInteger(update.size)];
    return used === null || size === null ? null : `${used} of ${size} tokens`;
  },
  current_mode_update: (update) => asText(update.currentModeId),
  config_option_update: (update) => {
    const options = asList(update.configOptions).map(asObject);
    const shown = options.map(
      ({ id, configId, currentValue }) => `${plainText(id ?? configId)}=${plainText(currentValue)}`,
    );
    return shown.join(", ") || null;
  },
  available_commands_update: (update) => {
    const names = asList(update.availableCommands).map((command) => asText(asObject(command).name));
    return (
      names
        .filter((name) => name !== null)
        .map((name) => `/${name}`)
        .join(", ") || null
    );
  },
  session_info_update: (update) => asText(update.title),
  notice: (update) => asText(update.title),
  compaction_update: (update) => asText(update.status),
  compaction_summary_chunk: (update) => asText(asObject(update.content).text),
  state_update: (update) => asText(update.state),
  terminal_update: (update) => asText(update.command),
  terminal_output_chunk: (update) => asText(update.terminalId),
};

/** The others are facts about the session. */
const SHOWN = ["plan", "plan_update", "plan_removed", "notice", "compaction_update"];

export function addNotice(out: Emitter, items: Items, kind: string, update: JsonObject): void {
  const facts = itemFacts(update);
  const read = Object.hasOwn(DETAIL, kind) ? DETAIL[kind] : undefined;
  if (!read) {
    items.addComplete(
      items.create("unknown", null, { facts }),
      [{ type: "json", json: update }],
      "completed",
      false,
    );
    return;
  }
  const full = read(update);
  const characters = full === null ? [] : [...full];
  const detail =
    characters.length > LONGEST_DETAIL ? `${characters.slice(0, LONGEST_DETAIL - 1).join("")}…` : full;
  if (!SHOWN.includes(kind)) {
    out.emit("session.updated", { label: kind, detail, update });
    return;
  }
  const item = items.create("status", null, { facts });
  items.addComplete(
    item,
    [
      { type: "status", label: kind, detail },
      { type: "json", json: update },
    ],
    "completed",
    false,
  );
}
