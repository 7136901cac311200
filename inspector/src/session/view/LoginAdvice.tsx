/** What to do when an agent refuses to work without a login: its own ways to log in, or a key. */

import type { AuthMethod } from "@agentclientprotocol/sdk";
import { useState } from "react";
import type { Instance } from "../../instance/instance";
import { useInstance } from "../../instance/useInstance";
import { ErrorBox } from "../../ui/ErrorBox";
import { Icon } from "../../ui/Icon";
import { useTask } from "../../ui/hooks/useTask";
import { LoginMethods } from "./LoginMethods";

export function LoginAdvice({ instance }: { instance: Instance }) {
  const { authMethods, needsLogin, turns } = useInstance(instance).conversation;
  const [done, setDone] = useState("");
  const task = useTask();
  if (!needsLogin || turns.length > 0) return null;
  const logIn = ({ id, name }: AuthMethod) =>
    void task.run(async () => {
      await instance.request("authenticate", { methodId: id });
      setDone(name);
    });
  return (
    <section className="login-advice" aria-label="Login of the agent">
      <Icon name="shield" />
      <div className="grow">
        <strong>The agent is not logged in</strong>
        <p>
          Start a new session with its key, or log in below if the agent offers it, and press <em>Retry</em>{" "}
          or <em>Resume</em>.
        </p>
        <LoginMethods methods={authMethods} disabled={task.running} choose={logIn} />
        {task.error !== undefined && <ErrorBox error={task.error} />}
        {done && (
          <p className="good-text" role="status">
            {done}: the agent accepted the login.
          </p>
        )}
      </div>
    </section>
  );
}
