/** The login that an agent wants before it opens a session: the user chooses one of its methods. */

import type { AuthMethod } from "@agentclientprotocol/sdk";
import type { ChooseLogin } from "../session/login";
import { LoginMethods } from "../session/view/LoginMethods";
import { ErrorBox } from "../ui/ErrorBox";

export interface LoginChoice {
  methods: readonly AuthMethod[];
  /** The agent's refusal, or why the last login failed. */
  problem: unknown;
  choose: (method: AuthMethod) => void;
}

/** Shows the choice until the user has made it. */
export function chooseLogin(show: (choice: LoginChoice | undefined) => void): ChooseLogin {
  return (methods, problem) =>
    new Promise((resolve) => {
      const choose = ({ id }: AuthMethod) => {
        show(undefined);
        resolve(id);
      };
      show({ methods, problem, choose });
    });
}

export function LoginChoiceField({ methods, problem, choose }: LoginChoice) {
  return (
    <fieldset className="key-field login-choice">
      <legend>The agent wants a login before it opens a session</legend>
      <ErrorBox error={problem} />
      <LoginMethods methods={methods} choose={choose} />
    </fieldset>
  );
}
