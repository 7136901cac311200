/** Opens the dialog that shares an instance; the dialog is loaded with its first use. */

import { lazy, Suspense, useState } from "react";
import { Icon } from "../ui/Icon";
import "./share.css";

const ShareDialog = lazy(async () => ({ default: (await import("./ShareDialog")).ShareDialog }));

export function ShareButton({ serverId }: { serverId: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label="Share"
        title="Share a read-only link"
        onClick={() => setOpen(true)}
      >
        <Icon name="link" />
      </button>
      {open && (
        <Suspense>
          <ShareDialog serverId={serverId} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
