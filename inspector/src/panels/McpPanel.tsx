/** The MCP servers of a directory, which new sessions in it may use. */

import { useState, type FormEvent } from "react";
import type { ConfigEntry } from "../api/bodies";
import { ConfigPanel, type SaveEntry } from "./ConfigPanel";
import { lines, pairsFrom, wordsFrom } from "./formFields";

export function McpPanel() {
  return (
    <ConfigPanel
      kind="mcp"
      title="MCP"
      about="MCP servers of this directory. A new session here is offered them; running ones keep what they have."
      tag={(entry) => (entry.type === "remote" ? (entry.transport ?? "http") : "local")}
      form={(save) => <McpForm save={save} />}
    />
  );
}

function McpForm({ save }: { save: SaveEntry<"mcp"> }) {
  const [name, setName] = useState("");
  const [type, setType] = useState("local");
  const [command, setCommand] = useState("");
  const [env, setEnv] = useState("");
  const [url, setUrl] = useState("");
  const [headers, setHeaders] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const entry =
      type === "local"
        ? localEntry(command, env)
        : remoteEntry(type === "sse" ? "sse" : "http", url, headers);
    if (!(await save(name.trim(), entry))) return;
    for (const clear of [setName, setCommand, setEnv, setUrl, setHeaders]) clear("");
  };
  return (
    <form className="form card" aria-label="Add an MCP server" onSubmit={(event) => void submit(event)}>
      <h3>Add a server</h3>
      <div className="form-row">
        <label>
          Name
          <input value={name} required onChange={(event) => setName(event.target.value)} />
        </label>
        <label>
          Type
          <select value={type} onChange={(event) => setType(event.target.value)}>
            <option value="local">local command</option>
            <option value="http">remote, HTTP</option>
            <option value="sse">remote, SSE</option>
          </select>
        </label>
      </div>
      {type === "local" ? (
        <>
          <label>
            Command
            <input
              className="mono"
              value={command}
              required
              placeholder="npx -y some-mcp-server"
              onChange={(event) => setCommand(event.target.value)}
            />
          </label>
          <label>
            Environment, NAME=value, one a line
            <textarea
              className="mono"
              rows={2}
              value={env}
              onChange={(event) => setEnv(event.target.value)}
            />
          </label>
        </>
      ) : (
        <>
          <label>
            Address
            <input
              className="mono"
              type="url"
              value={url}
              required
              onChange={(event) => setUrl(event.target.value)}
            />
          </label>
          <label>
            Headers, Name: value, one a line
            <textarea
              className="mono"
              rows={2}
              value={headers}
              onChange={(event) => setHeaders(event.target.value)}
            />
          </label>
        </>
      )}
      <button type="submit" className="button primary">
        Add server
      </button>
    </form>
  );
}

function localEntry(command: string, env: string): ConfigEntry["mcp"] {
  const [program = "", ...args] = wordsFrom(command);
  const variables = pairsFrom(lines(env), "=");
  return {
    type: "local",
    command: program,
    args,
    ...(Object.keys(variables).length > 0 ? { env: variables } : {}),
  };
}

function remoteEntry(transport: "http" | "sse", url: string, headers: string): ConfigEntry["mcp"] {
  const given = pairsFrom(lines(headers), ":");
  return {
    type: "remote",
    transport,
    url: url.trim(),
    ...(Object.keys(given).length > 0 ? { headers: given } : {}),
  };
}
