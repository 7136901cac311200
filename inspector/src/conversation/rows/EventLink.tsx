/** Leads to the raw event in the Events panel. */

import { useConnectedApp } from "../../state/appContext";
import { showEvent } from "../../state/selection";
import { Icon } from "../../ui/Icon";

export function EventLink({ n }: { n: number }) {
  // A page without a server has no Events panel.
  const here = useConnectedApp() !== null;
  if (!here) return null;
  return (
    <button
      type="button"
      className="icon-button tiny"
      aria-label="Show the raw event"
      title="Show the raw event"
      onClick={() => showEvent(n)}
    >
      <Icon name="link" size={12} />
    </button>
  );
}
