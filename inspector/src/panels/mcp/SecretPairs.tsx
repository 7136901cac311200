/** Names with values that are not shown, because they are often keys: variables of a process, headers. */

import { useState, type ClipboardEvent } from "react";
import { Icon } from "../../ui/Icon";
import { pairsFrom, type Pair } from "./formFields";

interface Props {
  legend: string;
  /** What one of them is called. */
  one: string;
  separator: "=" | ":";
  pairs: readonly Pair[];
  change: (pairs: readonly Pair[]) => void;
}

export function SecretPairs({ legend, one, separator, pairs, change }: Props) {
  const [shown, setShown] = useState(false);
  const set = (index: number, fields: Partial<Pair>) =>
    change(pairs.map((pair, at) => (at === index ? { ...pair, ...fields } : pair)));
  // Lines of a file are pasted into the first field.
  const paste = (index: number) => (event: ClipboardEvent) => {
    const found = pairsFrom(event.clipboardData.getData("text"), separator);
    if (!found) return;
    event.preventDefault();
    change([...pairs.slice(0, index), ...found, ...pairs.slice(index + 1)]);
  };
  return (
    <fieldset className="secret-pairs">
      <legend>{legend}</legend>
      {pairs.map((pair, index) => (
        <div key={index} className="secret-pair">
          <input
            className="mono"
            aria-label={`Name of ${one} ${index + 1}`}
            placeholder="Name"
            value={pair.name}
            onChange={(event) => set(index, { name: event.target.value })}
            onPaste={paste(index)}
          />
          <input
            className="mono"
            type={shown ? "text" : "password"}
            autoComplete="off"
            aria-label={`Value of ${one} ${index + 1}`}
            placeholder="Value"
            value={pair.value}
            onChange={(event) => set(index, { value: event.target.value })}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={`Remove ${one} ${index + 1}`}
            onClick={() => change(pairs.filter((_, at) => at !== index))}
          >
            <Icon name="close" size={13} />
          </button>
        </div>
      ))}
      <div className="secret-actions">
        <button
          type="button"
          className="link-button"
          onClick={() => change([...pairs, { name: "", value: "" }])}
        >
          <Icon name="plus" size={13} /> Add {one}
        </button>
        {pairs.length > 0 && (
          <label className="check small-text">
            <input type="checkbox" checked={shown} onChange={(event) => setShown(event.target.checked)} />
            Show values
          </label>
        )}
      </div>
    </fieldset>
  );
}
