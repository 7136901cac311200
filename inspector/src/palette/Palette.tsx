/** Ctrl+K: every session, panel and action by its name. */

import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { sessionRows } from "../sidebar/sessionRows";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { selectedInstance } from "../state/selection";
import { Dialog } from "../ui/Dialog";
import { agentCommands } from "./agentCommands";
import {
  matchingCommands,
  paletteCommands,
  type PaletteActions,
  type PaletteCommand,
} from "./paletteCommands";
import "../styles/palette.css";

const SHOWN = 50;

export function Palette({ actions, close }: { actions: PaletteActions; close: () => void }) {
  const app = useAppState();
  const sessions = useObservable(app.sessions.sessions);
  const { servers } = useObservable(app.servers.state);
  const phases = useObservable(app.open.phases);
  const instance = useObservable(selectedInstance);
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(0);
  const current = useRef<HTMLLIElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const commands = useMemo(
    () => [
      ...paletteCommands(sessionRows(sessions ?? [], servers, phases, false), actions),
      ...agentCommands(instance, (serverId) => app.api.closeServer(serverId)),
    ],
    [app, sessions, servers, phases, actions, instance],
  );
  const shown = matchingCommands(commands, typed).slice(0, SHOWN);
  // After the dialog was shown, which gives the focus to its first button.
  useEffect(() => input.current?.focus(), []);
  useEffect(() => {
    // Some browsers return a promise, which is no clean-up of an effect.
    void current.current?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const choose = (command: PaletteCommand | undefined) => {
    if (!command) return;
    close();
    command.run();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && shown.length > 0) setActive((active + step + shown.length) % shown.length);
    else if (event.key === "Enter") choose(shown[active]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" close={close}>
      <input
        className="palette-input"
        role="combobox"
        aria-label="Session, panel or action"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={shown[active] ? `palette-${active}` : undefined}
        placeholder="Session, panel or action"
        spellCheck={false}
        ref={input}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setActive(0);
        }}
        onKeyDown={pressed}
      />
      <ul className="palette-list" id="palette-list" role="listbox" aria-label="Results">
        {shown.map((command, index) => (
          <li
            key={command.key}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === active}
            ref={index === active ? current : undefined}
            onMouseMove={() => setActive(index)}
            onClick={() => choose(command)}
          >
            <span className="ellipsis">{command.label}</span> <span className="muted">{command.detail}</span>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="muted palette-none">Nothing has this name.</p>}
    </Dialog>
  );
}
