/**
 * A request of the agent as a card: permission, question or form. The keys 1 to 9 focus an option (or tick
 * it), Enter sends, Escape rejects; they work in the card and while nothing else has the focus.
 */

import { useEffect, useEffectEvent, useId, useRef, useState, type FormEvent } from "react";
import { rejectChoice, type AgentRequest } from "../fold/agentRequest";
import type { RequestItem, RequestState } from "../fold/chat/conversation";
import { answerResult, rejectResult, type Answers } from "../fold/requestResult";
import type { Instance } from "../instance/instance";
import { ErrorBox } from "../ui/ErrorBox";
import { pretty } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useTask } from "../ui/useTask";
import { QuestionFields } from "./QuestionFields";

interface Props {
  item: RequestItem;
  instance: Instance;
  answerable: boolean;
}

/** A card takes the focus within this time; one that scrolls into view later does not. */
const NEW_FOR_MS = 3000;

const STATE_LABELS: Record<RequestState, string> = {
  pending: "Waiting for you",
  answered: "Answered",
  rejected: "Rejected",
  stale: "Stale",
};

export function RequestCard({ item, instance, answerable }: Props) {
  const { request, state, answer } = item;
  const [answers, setAnswers] = useState<Answers>(() => request.questions.map(() => []));
  const [anyway, setAnyway] = useState(false);
  const card = useRef<HTMLFormElement>(null);
  const title = useId();
  const task = useTask();
  const open = answerable && (state === "pending" || (state === "stale" && anyway && !item.closed));

  const send = (given: Answers) =>
    void task.run(() => instance.answer(request, answerResult(request, given)));
  const reject = () => void task.run(() => instance.answer(request, rejectResult(request)));
  const change = (index: number, given: string[]) => {
    const next = answers.map((before, at) => (at === index ? given : before));
    setAnswers(next);
    if (answersAtOnce(request) && given.length > 0) send(next);
  };
  useCardKeys(card, open && !task.running, reject);
  useFirstFocus(card, open, item.time);

  const complete = request.questions.every(
    (asked, index) => !asked.required || (answers[index]?.length ?? 0) > 0,
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (complete) send(answers);
  };
  return (
    <form
      ref={card}
      className={`request ${request.kind} ${state}`}
      data-state={state}
      role="group"
      aria-labelledby={title}
      onSubmit={submit}
      tabIndex={-1}
    >
      <div className="request-head">
        <Icon name={request.kind === "permission" ? "shield" : "question"} />
        <strong id={title}>{heading(request)}</strong>
        <span className={`pill request-state ${state}`} role="status" aria-live="polite">
          {STATE_LABELS[state]}
          {answer ? `: ${answer}` : ""}
        </span>
      </div>
      {request.toolCall?.rawInput !== undefined && (
        <pre className="json" tabIndex={0} aria-label="What the tool would do">
          {pretty(request.toolCall.rawInput)}
        </pre>
      )}
      {state === "stale" && (
        <p className="muted">
          {item.closed
            ? "The agent no longer waits for an answer."
            : "The agent went on: another client has probably answered."}
          {!item.closed && answerable && !anyway && (
            <button type="button" className="link-button" onClick={() => setAnyway(true)}>
              Answer anyway
            </button>
          )}
        </p>
      )}
      {(open || state === "pending") && (
        <>
          {request.questions.map((asked, index) => (
            <QuestionFields
              key={asked.name || index}
              asked={asked}
              titled={asked.heading !== ""}
              given={answers[index] ?? []}
              disabled={!open || task.running}
              change={(given) => change(index, given)}
            />
          ))}
          <div className="request-actions">
            {!rejectChoice(request) && (
              <button type="button" className="button" disabled={!open || task.running} onClick={reject}>
                Reject
              </button>
            )}
            {!answersAtOnce(request) && (
              <button type="submit" className="button primary" disabled={!open || task.running || !complete}>
                Send answer
              </button>
            )}
            {open ? (
              <span className="muted keys">1–9 choose · Enter send · Esc reject</span>
            ) : (
              <span className="muted keys">{task.running ? "Sending…" : "Take part to answer"}</span>
            )}
          </div>
        </>
      )}
      {task.error !== undefined && <ErrorBox error={task.error} />}
    </form>
  );
}

function heading(request: AgentRequest): string {
  return request.kind === "permission" ? `Allow: ${request.title}?` : request.title;
}

/** One question with buttons is answered by pressing one; anything longer needs a send button. */
function answersAtOnce(request: AgentRequest): boolean {
  const [only, ...more] = request.questions;
  return (
    (request.kind === "permission" || request.kind === "question") &&
    more.length === 0 &&
    only !== undefined &&
    only.choices.length > 0 &&
    !only.allowOther &&
    !only.multiple
  );
}

/** Take the focus of a new card if the user is not typing, so that the keys work at once. */
function useFirstFocus(card: React.RefObject<HTMLFormElement | null>, open: boolean, time: number): void {
  useEffect(() => {
    const active = document.activeElement;
    const idle = active === document.body || (active instanceof HTMLTextAreaElement && active.value === "");
    if (open && idle && Date.now() - time < NEW_FOR_MS) card.current?.focus({ preventScroll: true });
  }, [open, time, card]);
}

function useCardKeys(
  card: React.RefObject<HTMLFormElement | null>,
  active: boolean,
  reject: () => void,
): void {
  const onEscape = useEffectEvent(reject);
  useEffect(() => {
    if (!active) return undefined;
    const pressed = (event: KeyboardEvent) => {
      const element = card.current;
      const target = event.target as HTMLElement;
      if (!element || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (target !== document.body && !element.contains(target)) return;
      const typing =
        target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "radio";
      if (event.key === "Escape") {
        event.preventDefault();
        onEscape();
      } else if (!typing && /^[1-9]$/.test(event.key)) {
        const option = element.querySelectorAll<HTMLElement>("[data-option]")[Number(event.key) - 1];
        if (!option) return;
        event.preventDefault();
        option.focus();
        if (option instanceof HTMLInputElement) option.click();
      } else if (event.key === "Enter" && !(target instanceof HTMLButtonElement)) {
        event.preventDefault();
        element.requestSubmit();
      }
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [active, card]);
}
