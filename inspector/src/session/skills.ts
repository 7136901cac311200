/**
 * Skills of a directory's config, installed where the agent looks for them. `sandbox-agent skills` does it in the
 * sandbox: a page cannot clone a repository, and the rules are those of the SDK.
 */

import type { AcpServer } from "../api/bodies";
import type { Http } from "../api/http";
import { checked, Commands } from "../compare/commands";

/** Enough to clone a repository, which may take two minutes. */
const INSTALL_LIMIT_MS = 180_000;
const REMOVE_LIMIT_MS = 30_000;
/** The server tells its processes where its own program is. */
const SCRIPT = 'exec "$SANDBOX_AGENT_BIN" skills "$@"';

/** A session that may have skills. */
interface Owner {
  id: string;
  cwd: string;
  /** Where the agent looks for skills, below `cwd`; absent for a session without skills. */
  skills?: string;
}

/** Install the skills for the agent's process, and remove them if the session is then not opened. */
export async function withSkills<T>(
  http: Http,
  owner: Owner,
  server: AcpServer | undefined,
  opening: () => Promise<T>,
): Promise<T> {
  await installSkills(http, owner, server);
  try {
    return await opening();
  } catch (error) {
    await removeSkills(http, owner);
    throw error;
  }
}

/** Rejects if a source cannot be fetched. */
async function installSkills(http: Http, owner: Owner, server: AcpServer | undefined): Promise<void> {
  if (owner.skills === undefined || !server) return;
  await run(http, owner, INSTALL_LIMIT_MS, [
    "install",
    ...["--session", owner.id, "--into", owner.skills],
    ...["--server-id", server.serverId, "--created-at-ms", String(server.createdAtMs)],
    ...["--pid", String(server.pid)],
  ]);
}

/** Remove those that no other session uses. A failure leaves them to the next session of the directory. */
export async function removeSkills(http: Http, owner: Owner): Promise<void> {
  if (owner.skills === undefined) return;
  await run(http, owner, REMOVE_LIMIT_MS, ["remove", "--session", owner.id]).catch(() => undefined);
}

async function run(http: Http, { cwd }: Owner, limitMs: number, args: string[]): Promise<void> {
  const result = await new Commands(http).run("sh", ["-c", SCRIPT, "sh", ...args], cwd, limitMs);
  checked("sandbox-agent skills", result);
}
