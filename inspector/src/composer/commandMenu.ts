/** The agent's slash commands that match the typed text. */

import type { AvailableCommand } from "@agentclientprotocol/sdk";
import type { Suggestion } from "./SuggestionMenu";

const SHOWN = 40;

export function matchingCommands(commands: readonly AvailableCommand[], text: string): Suggestion[] {
  const typed = /^\/(\S*)$/.exec(text)?.[1];
  if (typed === undefined) return [];
  return commands
    .filter((command) => command.name.toLowerCase().startsWith(typed.toLowerCase()))
    .slice(0, SHOWN)
    .map((command) => ({
      key: command.name,
      label: `/${command.name}`,
      detail: `${hint(command)} ${command.description}`.trim(),
      start: 0,
      insert: `/${command.name} `,
      whole: `/${command.name}` === text.trimEnd(),
    }));
}

function hint(command: AvailableCommand): string {
  return command.input && "hint" in command.input ? command.input.hint : "";
}
