/** How the process of an instance ended, in words; undefined while it runs. */

import type { AcpServer } from "../../api/bodies";

export function exitText(server: AcpServer): string | undefined {
  if (server.status !== "exited") return undefined;
  if (server.signal) return `killed by ${server.signal}`;
  return server.exitCode === undefined ? "exited" : `exit code ${server.exitCode}`;
}
