/** Keys of the prompt field: suggestions, Enter, and the arrows for earlier prompts. */

import { useMemo, useState, type KeyboardEvent } from "react";
import type { Item } from "../fold/chat/conversation";
import { earlierPrompts } from "./promptHistory";
import type { Suggestion } from "./SuggestionMenu";

interface Options {
  text: string;
  items: readonly Item[];
  suggestions: readonly Suggestion[];
  choose: (suggestion: Suggestion) => void;
  send: () => void;
  write: (text: string) => void;
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

export function useComposerKeys({ text, items, suggestions: found, choose, send, write }: Options) {
  const [active, setActive] = useState(0);
  const [closed, setClosed] = useState(false);
  /** Position in the earlier prompts, and what was typed before; -1 while no earlier prompt is shown. */
  const [recalled, setRecalled] = useState({ at: -1, typed: "" });
  const earlier = useMemo(() => earlierPrompts(items), [items]);
  const suggestions = closed ? [] : found;

  const recall = (step: number): boolean => {
    const at = recalled.at + step;
    if (at < -1 || at >= earlier.length) return false;
    const typed = recalled.at === -1 ? text : recalled.typed;
    setRecalled({ at, typed });
    write(at === -1 ? typed : earlier[at]!);
    return true;
  };

  const suggestionKey = (event: KeyboardEvent): boolean => {
    const chosen = suggestions[Math.min(active, suggestions.length - 1)];
    const step = STEPS[event.key];
    if (!chosen) return false;
    if (step) setActive((active + step + suggestions.length) % suggestions.length);
    else if (event.key === "Escape") setClosed(true);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !chosen.whole))
      choose(chosen);
    else return false;
    return true;
  };

  const historyKey = (event: KeyboardEvent): boolean => {
    const field = event.target as HTMLTextAreaElement;
    // In a text of several lines the arrows move the cursor, until it is at the edge.
    if (event.key === "ArrowUp" && field.selectionEnd === 0) return recall(1);
    if (event.key === "ArrowUp" && recalled.at >= 0) return recall(1);
    if (event.key === "ArrowUp" && text === "") return recall(1);
    return event.key === "ArrowDown" && recalled.at >= 0 && recall(-1);
  };

  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (suggestionKey(event) || historyKey(event)) {
      event.preventDefault();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      setRecalled({ at: -1, typed: "" });
      send();
    }
  };

  const typed = () => {
    setClosed(false);
    setActive(0);
    setRecalled({ at: -1, typed: "" });
  };
  return { suggestions, active, pressed, typed };
}
