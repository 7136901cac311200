/** Completions above the prompt: commands of the agent, or files. */

import { useEffect, useRef } from "react";
import type { Attachment } from "./attachments";

export interface Suggestion {
  key: string;
  label: string;
  detail: string;
  /** Where the inserted text replaces what was typed, up to the cursor. */
  start: number;
  insert: string;
  /** The typed text is this suggestion already: Enter sends. */
  whole?: boolean;
  /** The file that the prompt then links. */
  file?: Attachment;
}

interface Props {
  suggestions: readonly Suggestion[];
  active: number;
  choose: (suggestion: Suggestion) => void;
}

export function SuggestionMenu({ suggestions, active, choose }: Props) {
  const current = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // Some browsers return a promise, which is no clean-up of an effect.
    void current.current?.scrollIntoView({ block: "nearest" });
  }, [active]);
  if (suggestions.length === 0) return null;
  return (
    <ul className="command-menu" id="command-menu" role="listbox" aria-label="Suggestions">
      {suggestions.map((one, index) => (
        <li
          key={one.key}
          role="option"
          aria-selected={index === active}
          ref={index === active ? current : undefined}
          onMouseDown={(event) => {
            event.preventDefault();
            choose(one);
          }}
        >
          <strong>{one.label}</strong> <span className="muted">{one.detail}</span>
        </li>
      ))}
    </ul>
  );
}
