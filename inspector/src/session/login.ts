/** Requests that open a session, and the login that an agent may want before it opens one. */

import type { AuthMethod } from "@agentclientprotocol/sdk";
import { AUTH_REQUIRED } from "../api/errorCodes";
import type { Instance } from "../instance/instance";
import { numberAt } from "../json";

/** Methods that only confirm an API key of the environment; the list of the SDK, `login_methods.py`. */
const KEY_LOGINS = [
  "codex-api-key",
  "openai-api-key",
  "anthropic-api-key",
  "api-key",
  "gemini-api-key",
  "xai.api_key",
  "openai",
];

/** Ask the user for one of the agent's ways to log in; `problem` says why the last one failed. */
export type ChooseLogin = (methods: readonly AuthMethod[], problem: unknown) => Promise<string>;

/**
 * Send a request that opens a session. If the agent wants a login first, a key of the environment is confirmed
 * like the SDK does; otherwise the user chooses, and may choose again if that fails.
 */
export async function requestWithLogin<T>(
  instance: Instance,
  method: string,
  params: unknown,
  offered: readonly AuthMethod[],
  choose?: ChooseLogin,
): Promise<T> {
  let keyLogin = KEY_LOGINS.find((id) => offered.some((one) => one.id === id));
  let problem: unknown;
  for (;;) {
    try {
      return await instance.request<T>(method, params);
    } catch (error) {
      if (numberAt(error, "code") !== AUTH_REQUIRED) throw error;
      problem ??= error;
    }
    const ask = choose && offered.length > 0 ? () => choose(offered, problem) : undefined;
    const methodId = keyLogin ?? (await ask?.());
    if (methodId === undefined) throw problem;
    keyLogin = undefined;
    problem = await instance.request("authenticate", { methodId }).then(
      () => undefined,
      (error: unknown) => error,
    );
  }
}
