/** The files of the unsent prompt. */

import { useObservable } from "../state/observable";
import { Icon } from "../ui/Icon";
import type { Draft } from "./draft";

export function AttachmentChips({ draft }: { draft: Draft }) {
  const { attachments } = useObservable(draft.state);
  if (attachments.length === 0) return null;
  return (
    <div className="chips">
      {attachments.map((one, index) => (
        <span key={`${one.path}-${index}`} className="file-chip">
          <Icon name="file" size={14} /> {one.name}
          <button
            type="button"
            className="icon-button tiny"
            aria-label={`Remove ${one.name}`}
            onClick={() => draft.change({ attachments: attachments.filter((other) => other !== one) })}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
    </div>
  );
}
