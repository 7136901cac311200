/** Commands that the server runs in a directory, with `POST /v1/processes/run`. */

import type { components } from "../api/schema";
import type { Http } from "../api/http";
import { TitledError } from "../api/problem";

export type CommandResult = components["schemas"]["ProcessRunResponse"];

/** Enough for a patch that a person can read; the rest is cut, and said to be. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
const GIT_LIMIT_MS = 60_000;

export class CommandFailed extends TitledError {
  constructor(
    command: string,
    readonly result: CommandResult,
  ) {
    const said = (result.stderr || result.stdout).trim();
    super(`${command} failed`, said || `${command} ended with ${result.exitCode ?? "a time-out"}`);
    this.name = "CommandFailed";
  }
}

export class Commands {
  constructor(private readonly http: Http) {}

  run(command: string, args: string[], cwd: string, timeoutMs: number): Promise<CommandResult> {
    return this.http.json("/v1/processes/run", {
      method: "POST",
      json: { command, args, cwd, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES },
    });
  }

  /** The output of a git command. Rejects with `CommandFailed` if it fails. */
  async git(cwd: string, ...args: string[]): Promise<CommandResult> {
    // Neither pagers nor colours of the user's configuration, and paths as they are.
    const options = ["--no-pager", "-c", "color.ui=false", "-c", "core.quotePath=false"];
    return checked("git", await this.run("git", [...options, ...args], cwd, GIT_LIMIT_MS));
  }

  /** A script of /bin/sh with `$1`, `$2` and so on. Rejects with `CommandFailed` if it fails. */
  async shell(cwd: string, script: string, ...args: string[]): Promise<CommandResult> {
    return checked("sh", await this.run("sh", ["-c", script, "sh", ...args], cwd, GIT_LIMIT_MS));
  }
}

/** Rejects with `CommandFailed` if the command failed. */
export function checked(command: string, result: CommandResult): CommandResult {
  if (result.exitCode !== 0) throw new CommandFailed(command, result);
  return result;
}
