/** The calls of this page to `sandbox-agent rollouts serve`. */

import type { Http } from "../api/http";
import { problemOf } from "../api/problem";
import type { LoggedMessage } from "../fold/message";
import { readMessages } from "../replay/messageLines";
import { readTrajectory, TRAJECTORY_FILE } from "./run/trajectory";
import type { Output, RunDetails } from "./run";

const PATH = "/v1/rollouts";
/** Every ACP message of a run, with its time and sender. */
const MESSAGES_FILE = "messages.jsonl";
const NOT_MODIFIED = 304;

export class RolloutsApi {
  private known: { tag: string; output: Output } | undefined;

  constructor(private readonly http: Http) {}

  /** The same object as before if nothing has changed. */
  async output(): Promise<Output> {
    const headers: Record<string, string> = this.known ? { "if-none-match": this.known.tag } : {};
    const response = await this.http.send(PATH, { headers, quiet: true });
    if (response.status === NOT_MODIFIED && this.known) return this.known.output;
    if (!response.ok) throw await problemOf(response);
    const output = (await response.json()) as Output;
    this.known = { tag: response.headers.get("etag") ?? "", output };
    return output;
  }

  run(id: string): Promise<RunDetails> {
    return this.http.json<RunDetails>(runPath(id));
  }

  async fileText(id: string, name: string): Promise<string> {
    const response = await this.http.checked(`${runPath(id)}/files/${encodeURIComponent(name)}`);
    return response.text();
  }

  async fileBlob(id: string, name: string): Promise<Blob> {
    const response = await this.http.checked(`${runPath(id)}/files/${encodeURIComponent(name)}`);
    return response.blob();
  }

  /** What was said, from the best record that the run has kept. */
  async messages(run: RunDetails): Promise<LoggedMessage[]> {
    if (run.files.includes(MESSAGES_FILE)) return readMessages(await this.fileText(run.id, MESSAGES_FILE));
    if (run.files.includes(TRAJECTORY_FILE))
      return readTrajectory(await this.fileText(run.id, TRAJECTORY_FILE));
    return [];
  }
}

function runPath(id: string): string {
  return `${PATH}/${encodeURIComponent(id)}`;
}
