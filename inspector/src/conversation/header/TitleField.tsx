/** The title of a session; a double click or its button makes it editable. */

import { useState } from "react";
import { Icon } from "../../ui/Icon";

export function TitleField({ title, rename }: { title: string; rename?: (name: string) => void }) {
  const [edited, setEdited] = useState<string | undefined>();
  if (edited === undefined || !rename) {
    return (
      <>
        <h1 title={title} onDoubleClick={() => setEdited(title)}>
          {title}
        </h1>
        {rename && (
          <button
            type="button"
            className="icon-button tiny"
            aria-label="Rename session"
            title="Rename session"
            onClick={() => setEdited(title)}
          >
            <Icon name="edit" size={12} />
          </button>
        )}
      </>
    );
  }
  const save = () => {
    if (edited.trim()) rename(edited.trim());
    setEdited(undefined);
  };
  return (
    <input
      className="title-field"
      aria-label="Name of the session"
      value={edited}
      autoFocus
      onChange={(event) => setEdited(event.target.value)}
      onBlur={save}
      onKeyDown={(event) => {
        if (event.key === "Enter") save();
        if (event.key === "Escape") setEdited(undefined);
      }}
    />
  );
}
