/** Keys and focus of a card. The keys work inside it, and anywhere while nothing else has the focus. */

import { useEffect, useEffectEvent, type RefObject } from "react";
import { optionIndex } from "./optionKeys";

type Card = RefObject<HTMLFormElement | null>;

/** A card takes the focus within this time; one that scrolls into view later does not. */
const NEW_FOR_MS = 3000;

/** Take the focus of a new card if the user is not typing, so that the keys work at once. */
export function useFirstFocus(card: Card, open: boolean, time: number): void {
  useEffect(() => {
    const active = document.activeElement;
    const idle = active === document.body || (active instanceof HTMLTextAreaElement && active.value === "");
    if (!open || !idle || Date.now() - time > NEW_FOR_MS) return;
    const element = card.current;
    // A question without options is typed, so its field gets the focus.
    const field = element?.querySelector("[data-option]")
      ? undefined
      : element?.querySelector<HTMLElement>("input:not([type=checkbox])");
    (field ?? element)?.focus({ preventScroll: true });
  }, [open, time, card]);
}

interface Options {
  active: boolean;
  /** Pressing an option answers: its key only moves the focus, and Enter presses. */
  atOnce: boolean;
  reject: () => void;
}

export function useCardKeys(card: Card, { active, atOnce, reject }: Options): void {
  const onEscape = useEffectEvent(reject);
  useEffect(() => {
    if (!active) return undefined;
    const pressed = (event: KeyboardEvent) => {
      const element = card.current;
      const target = event.target as HTMLElement;
      if (!element || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (!element.contains(target) && !(target === document.body && isFirstCard(element))) return;
      if (event.key === "Escape") onEscape();
      else if (event.key === "Enter" && submits(target, atOnce)) element.requestSubmit();
      else if (!isTyping(target) && chooseOption(element, event.key, atOnce)) void 0;
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [active, atOnce, card]);
}

/** With several cards on the page, keys without a focus belong to the oldest. */
function isFirstCard(element: HTMLElement): boolean {
  return document.querySelector("form[data-state=pending]") === element;
}

function isTyping(target: HTMLElement): boolean {
  return target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "radio";
}

/** Enter on a button presses it, except on an option of a form, which is chosen by its key or a click. */
function submits(target: HTMLElement, atOnce: boolean): boolean {
  if (!(target instanceof HTMLButtonElement)) return true;
  return !atOnce && target.dataset.option !== undefined;
}

function chooseOption(card: HTMLElement, key: string, atOnce: boolean): boolean {
  const option = card.querySelectorAll<HTMLElement>("[data-option]")[optionIndex(key)];
  if (!option) return false;
  option.focus();
  if (!atOnce) option.click();
  return true;
}
