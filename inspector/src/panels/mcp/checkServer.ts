/** Connects to an MCP server from the sandbox, as an agent would, with `POST /v1/processes/run`. */

import type { components } from "../../api/schema";
import type { Http } from "../../api/http";
import { isObject, parseJson, textAt } from "../../json";
import script from "./check_server.py?raw";
import type { McpEntry } from "./mcpEntry";

export interface McpServerFacts {
  name: string;
  version: string;
  tools: readonly string[];
}

/** The first start of a server with `npx` or `uvx` downloads it. */
const LIMIT_S = 60;

export async function checkServer(http: Http, entry: McpEntry, directory: string): Promise<McpServerFacts> {
  const done = await http.json<components["schemas"]["ProcessRunResponse"]>("/v1/processes/run", {
    method: "POST",
    secret: true,
    json: {
      command: "python3",
      args: ["-I", "-c", script, String(LIMIT_S)],
      cwd: directory,
      env: { MCP_SERVER_TO_CHECK: JSON.stringify(entry) },
      timeoutMs: (LIMIT_S + 5) * 1000,
    },
  });
  const answer = parseJson(done.stdout);
  if (!isObject(answer)) throw new Error(done.stderr.trim() || "The check did not end in time.");
  const problem = textAt(answer, "problem");
  if (problem !== undefined) throw new Error(problem);
  return {
    name: textAt(answer, "name") ?? "",
    version: textAt(answer, "version") ?? "",
    tools: Array.isArray(answer.tools) ? answer.tools.map(String) : [],
  };
}
