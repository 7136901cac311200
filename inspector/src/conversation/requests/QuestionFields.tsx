/** The input of one question: buttons, check boxes or a text field. */

import { useId } from "react";
import { permissionKind, type Choice, type Question } from "../../fold/agentRequest";
import { optionKey } from "./optionKeys";

interface Props {
  asked: Question;
  /** Show the question itself: a form has one title for several. */
  titled: boolean;
  /** Number of options in the card before this question: the keys count through the card. */
  firstOption: number;
  given: string[];
  problem?: string;
  disabled: boolean;
  change: (given: string[]) => void;
}

export function QuestionFields(props: Props) {
  const { asked, titled, firstOption, given, problem, disabled, change } = props;
  const id = useId();
  const title = titled ? (
    <span className="field-title" id={id}>
      {asked.heading}
      {asked.required ? "" : " (optional)"}
    </span>
  ) : null;
  const about = asked.description && !asked.heading.includes(asked.description) && titled && (
    <span className="muted small-text">{asked.description}</span>
  );
  const wrong = problem && (
    <span className="bad-text small-text" role="status" id={`${id}-problem`}>
      {problem}
    </span>
  );
  const labelled = titled ? { "aria-labelledby": id } : { "aria-label": asked.prompt };
  if (asked.choices.length === 0) {
    return (
      <div className="field">
        {title}
        {about}
        <TextInput {...props} labelled={labelled} problemId={problem ? `${id}-problem` : undefined} />
        {wrong}
      </div>
    );
  }
  const offered = asked.choices.map((choice) => choice.value);
  const chosen = given.filter((value) => offered.includes(value));
  const other = given.find((value) => !offered.includes(value)) ?? "";
  const otherField = asked.allowOther && (
    <input
      type="text"
      value={other}
      disabled={disabled}
      aria-label={`${asked.prompt}: another answer`}
      placeholder="Another answer"
      onChange={({ target }) =>
        change([...(asked.multiple ? chosen : []), ...(target.value === "" ? [] : [target.value])])
      }
    />
  );
  if (asked.multiple) {
    const toggle = (value: string) =>
      change(given.includes(value) ? given.filter((one) => one !== value) : [...given, value]);
    return (
      <div className="field choices" role="group" {...labelled}>
        {title}
        {about}
        {asked.choices.map((choice, index) => (
          <label key={choice.value} className="check">
            <input
              type="checkbox"
              data-option
              checked={given.includes(choice.value)}
              disabled={disabled}
              onChange={() => toggle(choice.value)}
            />
            <Key index={firstOption + index} /> {choice.label}{" "}
            {choice.description && <span className="muted">{choice.description}</span>}
          </label>
        ))}
        {otherField}
        {wrong}
      </div>
    );
  }
  // An optional choice can be taken back.
  const choose = (value: string) => change(!asked.required && given.includes(value) ? [] : [value]);
  return (
    <div className="field choices" role="group" {...labelled}>
      {title}
      {about}
      {asked.choices.map((choice, index) => (
        <button
          key={choice.value}
          type="button"
          data-option
          className={`button option ${tone(choice)}`}
          disabled={disabled}
          aria-pressed={given.includes(choice.value)}
          title={choice.description}
          onClick={() => choose(choice.value)}
        >
          <Key index={firstOption + index} /> {choice.label}
        </button>
      ))}
      {otherField}
      {wrong}
    </div>
  );
}

const INPUT_TYPES: Record<string, string> = { email: "email", uri: "url", date: "date" };

interface TextProps extends Props {
  labelled: { "aria-label"?: string; "aria-labelledby"?: string };
  problemId?: string;
}

function TextInput({ asked, given, disabled, change, labelled, problemId }: TextProps) {
  const numeric = asked.valueType === "integer" || asked.valueType === "number";
  const type = numeric ? "number" : (INPUT_TYPES[asked.limits?.format ?? ""] ?? "text");
  return (
    <input
      type={type}
      step={asked.valueType === "integer" ? 1 : "any"}
      min={asked.limits?.minimum}
      max={asked.limits?.maximum}
      value={given[0] ?? ""}
      disabled={disabled}
      {...labelled}
      aria-invalid={problemId !== undefined}
      aria-describedby={problemId}
      placeholder="Your answer"
      onChange={(event) => change(event.target.value === "" ? [] : [event.target.value])}
    />
  );
}

function Key({ index }: { index: number }) {
  const key = optionKey(index);
  return key ? <kbd aria-hidden="true">{key}</kbd> : null;
}

function tone(choice: Choice): string {
  const kind = permissionKind(choice);
  if (kind?.startsWith("allow")) return "allow";
  return kind?.startsWith("reject") ? "reject" : "";
}
