/** The input of one question: buttons, check boxes or a text field. */

import { useId } from "react";
import { permissionKind, type Choice, type Question } from "../fold/agentRequest";

interface Props {
  asked: Question;
  /** Show the question itself: a form has one title for several. */
  titled: boolean;
  given: string[];
  disabled: boolean;
  change: (given: string[]) => void;
}

export function QuestionFields({ asked, titled, given, disabled, change }: Props) {
  const id = useId();
  const title = titled ? (
    <span className="field-title" id={id}>
      {asked.heading}
      {asked.required ? "" : " (optional)"}
    </span>
  ) : null;
  const labelled = titled ? { "aria-labelledby": id } : { "aria-label": asked.prompt };
  if (asked.choices.length === 0) {
    const numeric = asked.valueType === "integer" || asked.valueType === "number";
    return (
      <div className="field">
        {title}
        <input
          type={numeric ? "number" : "text"}
          step={asked.valueType === "integer" ? 1 : "any"}
          value={given[0] ?? ""}
          disabled={disabled}
          {...labelled}
          placeholder="Your answer"
          onChange={(event) => change(event.target.value === "" ? [] : [event.target.value])}
        />
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
        {asked.choices.map((choice, index) => (
          <label key={choice.value} className="check">
            <input
              type="checkbox"
              data-option
              checked={given.includes(choice.value)}
              disabled={disabled}
              onChange={() => toggle(choice.value)}
            />
            <Key index={index} /> {choice.label}{" "}
            {choice.description && <span className="muted">{choice.description}</span>}
          </label>
        ))}
        {otherField}
      </div>
    );
  }
  return (
    <div className="field choices" role="group" {...labelled}>
      {title}
      {asked.choices.map((choice, index) => (
        <button
          key={choice.value}
          type="button"
          data-option
          className={`button option ${tone(choice)}`}
          disabled={disabled}
          aria-pressed={given.includes(choice.value)}
          title={choice.description}
          onClick={() => change([choice.value])}
        >
          <Key index={index} /> {choice.label}
        </button>
      ))}
      {otherField}
    </div>
  );
}

function Key({ index }: { index: number }) {
  return index < 9 ? <kbd aria-hidden="true">{index + 1}</kbd> : null;
}

function tone(choice: Choice): string {
  const kind = permissionKind(choice);
  if (kind?.startsWith("allow")) return "allow";
  return kind?.startsWith("reject") ? "reject" : "";
}
