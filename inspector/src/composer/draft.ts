/** The unsent prompt of a session: kept in the browser, so that it survives switching, a reload and failures. */

import { parseJson, isObject, listAt, textAt } from "../json";
import { Observable } from "../state/observable";
import { readStored, removeStored, writeStored } from "../ui/hooks/useStored";
import type { Attachment } from "./attachments";

export interface DraftState {
  text: string;
  attachments: readonly Attachment[];
}

const EMPTY: DraftState = { text: "", attachments: [] };

export class Draft {
  readonly state: Observable<DraftState>;
  /** Counts requests to put the focus into the field. */
  readonly focus = new Observable(0);

  constructor(private readonly id: string) {
    this.state = new Observable(restored(id));
  }

  change(change: Partial<DraftState>): void {
    const next = { ...this.state.get(), ...change };
    this.state.set(next);
    if (next.text === "" && next.attachments.length === 0) removeStored(`draft:${this.id}`);
    else writeStored(`draft:${this.id}`, JSON.stringify(next));
  }

  /** Put an older prompt into the field to edit it. */
  edit(text: string, attachments: readonly Attachment[] = []): void {
    this.change({ text, attachments });
    this.focus.set(this.focus.get() + 1);
  }

  clear(): void {
    this.change(EMPTY);
  }
}

function restored(id: string): DraftState {
  const stored = parseJson(readStored(`draft:${id}`) ?? "");
  if (!isObject(stored)) return EMPTY;
  const attachments = listAt(stored, "attachments") as unknown as Attachment[];
  return { text: textAt(stored, "text") ?? "", attachments };
}
