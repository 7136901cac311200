/** One option of an agent: its choices, and a free value where the agent may know more. */

import { useState } from "react";
import type { SelectOption } from "../session/options";

interface Props {
  option: SelectOption;
  value: string;
  change: (value: string) => void;
  custom: boolean;
}

const CUSTOM = "\0custom";

export function OptionInput({ option, value, change, custom }: Props) {
  const [typing, setTyping] = useState(false);
  const { name, choices, currentValue } = option;
  if (typing) {
    return (
      <label>
        {name}
        <input value={value} autoFocus placeholder="Name" onChange={(event) => change(event.target.value)} />
        <button
          type="button"
          className="link-button"
          onClick={() => {
            setTyping(false);
            change("");
          }}
        >
          Back to the list
        </button>
      </label>
    );
  }
  const chosen = (selected: string) => (selected === CUSTOM ? setTyping(true) : change(selected));
  return (
    <label>
      {name}
      <select aria-label={name} value={value} onChange={(event) => chosen(event.target.value)}>
        <option value="">
          Default ({choices.find((one) => one.value === currentValue)?.name ?? currentValue})
        </option>
        {choices.map((one) => (
          <option key={one.value} value={one.value}>
            {one.name}
          </option>
        ))}
        {custom && <option value={CUSTOM}>Custom…</option>}
      </select>
    </label>
  );
}
