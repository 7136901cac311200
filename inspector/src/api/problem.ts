/** A failed call, read from problem+json where the server sent it, and the explanation that the page shows. */

import { isObject, objectAt, textAt, type JsonObject } from "../json";
import { AUTH_REQUIRED } from "./errorCodes";

export class ApiProblem extends Error {
  constructor(
    readonly kind: string,
    readonly status: number,
    readonly title: string,
    detail: string,
    readonly document: JsonObject = {},
  ) {
    super(detail);
    this.name = "ApiProblem";
  }

  get stderr(): string | undefined {
    return textAt(objectAt(this.document, "details"), "stderr");
  }

  /** The flag that switches the endpoint off, such as `--git`. */
  get setting(): string | undefined {
    return textAt(objectAt(this.document, "details"), "setting");
  }
}

const URN = "urn:sandbox-agent:error:";

export async function problemOf(response: Response): Promise<ApiProblem> {
  const text = await response.text().catch(() => "");
  try {
    const document: unknown = JSON.parse(text);
    if (isObject(document)) {
      const type = textAt(document, "type") ?? "";
      const kind = type.startsWith(URN) ? type.slice(URN.length) : `http_${response.status}`;
      const title = textAt(document, "title") ?? response.statusText;
      return new ApiProblem(kind, response.status, title, textAt(document, "detail") ?? title, document);
    }
  } catch {
    // Not JSON: a proxy answered instead of the server.
  }
  const detail = text.trim().slice(0, 300) || `The server answered ${response.status}.`;
  return new ApiProblem(`http_${response.status}`, response.status, response.statusText || "Error", detail);
}

const ADVICE: Record<string, string> = {
  unreachable: "Check that the server is running and that its address is right, then try again.",
  token_invalid: "Enter the token the server was started with (--token or SANDBOX_AGENT_TOKEN).",
  agent_not_installed: "Install the agent in the Agents panel first.",
  install_failed: "The Agents panel shows the output of the install; the machine may be offline.",
  agent_process_exited: "The agent's process ended. Read its last output, then resume to start a fresh one.",
  session_not_found: "This server no longer runs. Resume the session, or start a new one.",
  timeout: "The agent was silent for too long. Stop the turn or wait for the late answer on the stream.",
  permission_denied: "The server's user may not touch this path.",
  conflict: "Something else changed it at the same time. Refresh and look again.",
  misdirected_request: "Open the page under the name the server listens on, or start it with --allow-host.",
  forbidden_origin: "Start the server with --cors-allow-origin for this page's address.",
};

/** Advice for errors of the agent, by their JSON-RPC code. */
const RPC_ADVICE: Record<string, string> = {
  [AUTH_REQUIRED]: "The agent is not logged in: give it a key, or log in with its own program.",
};

export interface Explanation {
  title: string;
  detail: string;
  advice?: string;
  stderr?: string;
}

/** An error that says in a few words what did not work. */
export class TitledError extends Error {
  constructor(
    readonly title: string,
    message: string,
  ) {
    super(message);
  }
}

export function explain(error: unknown): Explanation {
  if (error instanceof ApiProblem) {
    return { title: error.title, detail: error.message, advice: ADVICE[error.kind], stderr: error.stderr };
  }
  if (error instanceof Error) {
    const { code } = error as { code?: unknown };
    const title = error instanceof TitledError ? error.title : "Something went wrong";
    return { title, detail: rpcDetail(error), advice: RPC_ADVICE[String(code)] };
  }
  return { title: "Something went wrong", detail: String(error) };
}

function rpcDetail(error: Error): string {
  const data = (error as { data?: unknown }).data;
  const detail = textAt(data, "details") ?? textAt(data, "message");
  return detail ? `${error.message}: ${detail}` : error.message;
}
