/** Asks for the endpoint and its token. */

import { useState, type FormEvent } from "react";
import type { Endpoint } from "./api/http";
import { openEndpoint } from "./state/endpoint";
import { ErrorBox } from "./ui/ErrorBox";
import { Logo } from "./ui/Logo";
import { ThemeButton } from "./ui/ThemeButton";
import { useTask } from "./ui/hooks/useTask";
import type { Theme } from "./ui/hooks/useTheme";

interface Props {
  endpoint: Endpoint;
  error: unknown;
  connect: (endpoint: Endpoint, remember: boolean) => Promise<void>;
  theme: Theme;
}

export function ConnectScreen({ endpoint, error, connect, theme }: Props) {
  const here = endpoint.url || window.location.origin;
  const [url, setUrl] = useState(here);
  const [token, setToken] = useState(endpoint.token);
  const [remember, setRemember] = useState(false);
  const [tried, setTried] = useState(false);
  const task = useTask();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wanted = url.trim().replace(/\/+$/, "");
    if (wanted !== here) {
      openEndpoint(wanted === window.location.origin ? "" : wanted);
      return;
    }
    setTried(true);
    void task.run(() => connect({ ...endpoint, token: token.trim() }, remember));
  };

  const mixed = window.location.protocol === "https:" && url.startsWith("http://");
  const shown = task.error ?? (tried ? undefined : error);
  return (
    <main className="connect">
      <form className="connect-card" onSubmit={submit} aria-labelledby="connect-title">
        <div className="connect-head">
          <Logo />
          <h1 id="connect-title">Connect to Sandbox Agent</h1>
          <ThemeButton theme={theme} />
        </div>
        {shown !== undefined && <ErrorBox error={shown} />}
        <label>
          Server
          <input
            type="url"
            value={url}
            onChange={(event) => setUrl(event.target.value)}
            required
            spellCheck={false}
          />
        </label>
        {mixed && (
          <p className="warning-line" role="status">
            This page came over https. Browsers block calls from it to an http server; open the inspector of
            that server instead.
          </p>
        )}
        <label>
          Token
          <input
            type="password"
            value={token}
            autoFocus
            autoComplete="current-password"
            spellCheck={false}
            placeholder="Leave empty if the server has none"
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <label className="check">
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />
          Remember the token in this browser
        </label>
        <button type="submit" className="button primary wide" disabled={task.running}>
          {task.running ? "Connecting…" : "Connect"}
        </button>
        <p className="muted small-text">
          The token is the one the server was started with: <code>--token</code> or{" "}
          <code>SANDBOX_AGENT_TOKEN</code>. A server elsewhere must allow this page with{" "}
          <code>--cors-allow-origin</code>.
        </p>
      </form>
    </main>
  );
}
