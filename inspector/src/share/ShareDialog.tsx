/** Share an instance: a read-only link with an expiry, and the links that exist. */

import { useCallback, useState, type FormEvent } from "react";
import { ApiProblem } from "../api/problem";
import { useAppState } from "../state/appState";
import { ConfirmButton } from "../ui/ConfirmButton";
import { CopyButton } from "../ui/CopyButton";
import { Dialog } from "../ui/Dialog";
import { ErrorBox } from "../ui/ErrorBox";
import { count } from "../ui/format";
import { useLoaded } from "../ui/hooks/useLoaded";
import { useTask } from "../ui/hooks/useTask";
import { ShareApi, shareAddress, type CreatedShare } from "./shareApi";

const HOUR_MS = 60 * 60 * 1000;
const EXPIRIES: [string, number][] = [
  ["1 hour", HOUR_MS],
  ["1 day", 24 * HOUR_MS],
  ["7 days", 7 * 24 * HOUR_MS],
  ["30 days", 30 * 24 * HOUR_MS],
];
const EXPIRY = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "short" });

export function ShareDialog({ serverId, close }: { serverId: string; close: () => void }) {
  const { http, endpoint } = useAppState();
  const [api] = useState(() => new ShareApi(http));
  const [expiry, setExpiry] = useState(24 * HOUR_MS);
  const [created, setCreated] = useState<CreatedShare | undefined>();
  const shares = useLoaded(useCallback(() => api.list(serverId), [api, serverId]));
  const task = useTask();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void task.run(async () => {
      setCreated(await api.create(serverId, expiry));
      shares.reload();
    });
  };
  const revoke = (id: string) =>
    void task.run(async () => {
      await api.revoke(serverId, id);
      if (created?.id === id) setCreated(undefined);
      shares.reload();
    });
  const isOpen = task.error instanceof ApiProblem && task.error.status === 409 && !endpoint.token;
  return (
    <Dialog title="Share this session" close={close}>
      <form className="form" onSubmit={submit}>
        <p className="muted">
          A link to read along: the whole conversation, prompts and answers included, without the token. Its
          readers cannot send, answer or open files.
        </p>
        <label>
          Expires after
          <select value={expiry} onChange={(event) => setExpiry(Number(event.target.value))}>
            {EXPIRIES.map(([label, ms]) => (
              <option key={ms} value={ms}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {created && (
          <label>
            Link
            <span className="share-link">
              <input
                readOnly
                className="mono"
                aria-label="Link"
                value={shareAddress(serverId, created.ticket, endpoint.url)}
                onFocus={(event) => event.target.select()}
              />
              <CopyButton
                text={shareAddress(serverId, created.ticket, endpoint.url)}
                label="Copy link"
                shown
              />
            </span>
            <span className="muted small-text">It is shown once: copy it now.</span>
          </label>
        )}
        {isOpen && (
          <p className="warn-text small-text" role="alert">
            This server has no token: the address of the session opens it for everyone who reaches the server,
            with all rights. Start the server with a token to share read-only links.
          </p>
        )}
        {task.error !== undefined && !isOpen && <ErrorBox error={task.error} />}
        {shares.error !== undefined && <ErrorBox error={shares.error} retry={shares.reload} />}
        {(shares.value?.length ?? 0) > 0 && (
          <ul className="share-list" aria-label="Links">
            {shares.value?.map((share) => (
              <li key={share.id}>
                <span className="grow">
                  until {EXPIRY.format(share.expiresAtMs)}{" "}
                  <span className="muted">{count(share.readers, "reader")}</span>
                </span>
                <ConfirmButton
                  label="Revoke"
                  question="End this link?"
                  disabled={task.running}
                  confirmed={() => revoke(share.id)}
                />
              </li>
            ))}
          </ul>
        )}
        <div className="dialog-actions">
          <span className="grow" />
          <button type="button" className="button" onClick={close}>
            Close
          </button>
          <button type="submit" className="button primary" disabled={task.running}>
            Create a link
          </button>
        </div>
      </form>
    </Dialog>
  );
}
