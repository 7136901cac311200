/** The agent's slash commands that match the typed text. */

import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { useEffect, useRef } from "react";

const SHOWN = 40;

export function matchingCommands(commands: AvailableCommand[], text: string): AvailableCommand[] {
  const typed = /^\/(\S*)$/.exec(text)?.[1];
  if (typed === undefined) return [];
  return commands
    .filter((command) => command.name.toLowerCase().startsWith(typed.toLowerCase()))
    .slice(0, SHOWN);
}

interface Props {
  commands: AvailableCommand[];
  active: number;
  choose: (name: string) => void;
}

export function CommandMenu({ commands, active, choose }: Props) {
  const current = useRef<HTMLLIElement>(null);
  useEffect(() => current.current?.scrollIntoView({ block: "nearest" }), [active]);
  if (commands.length === 0) return null;
  return (
    <ul className="command-menu" id="command-menu" role="listbox" aria-label="Commands of the agent">
      {commands.map((command, index) => (
        <li
          key={command.name}
          role="option"
          aria-selected={index === active}
          ref={index === active ? current : undefined}
          onMouseDown={(event) => {
            event.preventDefault();
            choose(command.name);
          }}
        >
          <strong>/{command.name}</strong>{" "}
          <span className="muted">
            {hint(command)} {command.description}
          </span>
        </li>
      ))}
    </ul>
  );
}

function hint(command: AvailableCommand): string {
  return command.input && "hint" in command.input ? command.input.hint : "";
}
