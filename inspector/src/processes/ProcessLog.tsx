/** The output of one process, followed while it runs. */

import { useEffect, useState } from "react";
import type { ProcessInfo } from "../api/bodies";
import { useAppState } from "../state/appState";
import { bytesOfBase64 } from "../terminals/base64Bytes";
import { endText } from "../terminals/endText";
import { Screen } from "../terminals/screen";
import { ScreenHost } from "../terminals/ScreenHost";
import { ScreenTools } from "../terminals/ScreenTools";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { followLog } from "./followLog";

export function ProcessLog({ process, close }: { process: ProcessInfo; close: () => void }) {
  const { http } = useAppState();
  const [screen, setScreen] = useState<Screen | undefined>();
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    const leaving = new AbortController();
    const made = new Screen({ readOnly: true, label: `Output of ${process.id}` });
    const listener = {
      entry: (entry: { data: string }) => made.write(bytesOfBase64(entry.data)),
      gap: (oldest: number) => made.write(`[output before entry ${oldest} is no longer kept]\n`),
      exit: (exit: Parameters<typeof endText>[0]) => made.write(`\n[${endText(exit)}]\n`),
    };
    followLog(http, process.id, listener, leaving.signal).catch((failure: unknown) => {
      if (!leaving.signal.aborted) setError(failure);
    });
    // The screen belongs to this effect: it is made and closed with the stream.
    queueMicrotask(() => leaving.signal.aborted || setScreen(made));
    return () => {
      leaving.abort();
      made.close();
    };
  }, [http, process.id]);
  return (
    <div className="panel">
      <div className="toolbar">
        <button type="button" className="icon-button" aria-label="Back to the list" onClick={close}>
          <Icon name="arrowUp" />
        </button>
        <code className="ellipsis">{[process.command, ...process.args].join(" ")}</code>
        {screen && <ScreenTools screen={screen} />}
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {screen && <ScreenHost screen={screen} focus={false} />}
    </div>
  );
}
