/**
 * A request of the agent as a card: permission, question or form. It shows what would be done. The keys 1 to 9
 * and a to z name its options, Enter sends, Escape rejects after a moment in which it can be taken back.
 */

import { useId, useRef, useState, type FormEvent } from "react";
import { rejectChoice, type AgentRequest } from "../../fold/agentRequest";
import { answerProblem } from "../../fold/answerProblem";
import type { RequestItem, RequestState } from "../../fold/chat/conversation";
import { answerResult, rejectResult, type Answers } from "../../fold/requestResult";
import { asObject } from "../../json";
import { useConnectedApp } from "../../state/appContext";
import { ErrorBox } from "../../ui/ErrorBox";
import { Icon } from "../../ui/Icon";
import { useTask } from "../../ui/hooks/useTask";
import { optionKey } from "./optionKeys";
import { commandOf, RequestedAction } from "./RequestedAction";
import { QuestionFields } from "./QuestionFields";
import type { RowSource } from "../rows/rowSource";
import { useCardKeys, useFirstFocus } from "./useCardKeys";
import { useDelayed } from "./useDelayed";

interface Props {
  item: RequestItem;
  instance: RowSource;
  answerable: boolean;
}

const REJECT_AFTER_MS = 3000;

const STATE_LABELS: Record<RequestState, string> = {
  pending: "Waiting for you",
  answered: "Answered",
  rejected: "Rejected",
  stale: "Stale",
};

export function RequestCard({ item, instance, answerable }: Props) {
  const { request, state, answer } = item;
  const [answers, setAnswers] = useState<Answers>(() => request.questions.map((one) => one.defaults ?? []));
  const [tried, setTried] = useState(false);
  const [anyway, setAnyway] = useState(false);
  const [unfolded, setUnfolded] = useState(false);
  const card = useRef<HTMLFormElement>(null);
  const title = useId();
  const task = useTask();
  // A reader of a share or of a recording cannot answer.
  const readOnly = useConnectedApp() === null;
  const open = answerable && (state === "pending" || (state === "stale" && anyway && !item.closed));
  const atOnce = answersAtOnce(request);
  const folds = request.hasToolCard && (state === "answered" || state === "rejected");

  const answerWith = (result: ReturnType<typeof rejectResult>) =>
    void task.run(async () => {
      const focused = card.current?.contains(document.activeElement);
      await instance.answer(request, result);
      if (focused) document.querySelector<HTMLElement>("[aria-label=Prompt]")?.focus();
    });
  const send = (given: Answers) => answerWith(answerResult(request, given));
  const rejection = useDelayed(() => answerWith(rejectResult(request)), REJECT_AFTER_MS);
  const change = (index: number, given: string[]) => {
    const next = answers.map((before, at) => (at === index ? given : before));
    setAnswers(next);
    if (atOnce && given.length > 0) send(next);
  };
  useCardKeys(card, { active: open && !task.running, atOnce, reject: rejection.start });
  useFirstFocus(card, open, item.time);

  const problems = request.questions.map((asked, index) => answerProblem(asked, answers[index] ?? []));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    const wrong = problems.findIndex((problem) => problem !== undefined);
    if (wrong < 0) send(answers);
    else
      card.current?.querySelectorAll(".field")[wrong]?.querySelector<HTMLElement>("input, button")?.focus();
  };
  const starts = firstOptions(request);
  return (
    <form
      ref={card}
      className={`request ${request.kind} ${state}`}
      data-state={state}
      aria-labelledby={title}
      onSubmit={submit}
      noValidate
      tabIndex={-1}
    >
      <div className="request-head">
        <Icon name={request.kind === "permission" ? "shield" : "question"} />
        <strong id={title}>{heading(request)}</strong>
        <span className={`pill request-state ${state}`} role="status" aria-live="polite">
          {readOnly && state === "pending" ? "Waiting for an answer" : STATE_LABELS[state]}
          {answer ? `: ${answer}` : ""}
        </span>
        {folds && (
          <button
            type="button"
            className={unfolded ? "icon-button tiny turned" : "icon-button tiny"}
            aria-label="What was asked for"
            title="What was asked for"
            aria-expanded={unfolded}
            onClick={() => setUnfolded(!unfolded)}
          >
            <Icon name="chevron" size={14} />
          </button>
        )}
      </div>
      {request.toolCall && (!folds || unfolded) && <RequestedAction toolCall={request.toolCall} />}
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
              firstOption={starts[index]!}
              given={answers[index] ?? []}
              // A missing answer is told when the user tries to send; a wrong one at once.
              problem={tried || answers[index]?.length ? problems[index] : undefined}
              disabled={!open || task.running}
              change={(given) => change(index, given)}
            />
          ))}
          <div className="request-actions">
            {!rejectChoice(request) && (
              <button
                type="button"
                className="button"
                disabled={!open || task.running}
                onClick={() => answerWith(rejectResult(request))}
              >
                Reject
              </button>
            )}
            {!atOnce && (
              <button type="submit" className="button primary" disabled={!open || task.running}>
                Send answer
              </button>
            )}
            {rejection.waiting ? (
              <span className="rejecting" role="status">
                Rejecting in 3 seconds.{" "}
                <button type="button" className="link-button" onClick={rejection.cancel}>
                  Undo
                </button>
              </span>
            ) : (
              !readOnly && <span className="muted keys">{hint(request, open, task.running)}</span>
            )}
          </div>
        </>
      )}
      {task.error !== undefined && <ErrorBox error={task.error} />}
    </form>
  );
}

function heading(request: AgentRequest): string {
  if (request.kind !== "permission") return request.title;
  // The command stands below, with its lines as they are.
  const command = commandOf(asObject(request.toolCall?.rawInput));
  const title = command ? request.title.replace(`: ${command}`, "") : request.title;
  return `Allow: ${title.replace(/\?+$/, "")}?`;
}

function hint(request: AgentRequest, open: boolean, sending: boolean): string {
  if (!open) return sending ? "Sending…" : "Take part to answer";
  const options = request.questions.reduce((sum, asked) => sum + asked.choices.length, 0);
  const keys = options > 1 ? `${optionKey(0)}–${optionKey(options - 1) ?? "z"}` : "1";
  return `${options > 0 ? `${keys} to choose · ` : ""}Enter to send · Esc to reject`;
}

/** Number of options before each question. */
function firstOptions(request: AgentRequest): number[] {
  let count = 0;
  return request.questions.map((asked) => {
    const start = count;
    count += asked.choices.length;
    return start;
  });
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
