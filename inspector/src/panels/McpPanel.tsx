/** The MCP servers of a directory, which new sessions in it may use. */

import { useMemo, useState, type FormEvent } from "react";
import type { ConfigEntry } from "../api/bodies";
import { ErrorBox } from "../ui/ErrorBox";
import { useTask } from "../ui/hooks/useTask";
import { ConfigPanel, type SaveEntry } from "./ConfigPanel";
import { lines, pairsFrom, wordsFrom } from "./formFields";

export function McpPanel() {
  return (
    <ConfigPanel
      kind="mcp"
      title="MCP"
      about="MCP servers of this directory. A new session here is offered them; running ones keep what they have."
      tag={(entry) => (entry.type === "remote" ? (entry.transport ?? "http") : "local")}
      form={(save, edited) => <McpForm save={save} edited={edited} />}
    />
  );
}

interface FormProps {
  save: SaveEntry<"mcp">;
  edited?: { name: string; entry: ConfigEntry["mcp"] };
}

function McpForm({ save, edited }: FormProps) {
  const start = useMemo(() => fieldsOf(edited), [edited]);
  const [name, setName] = useState(start.name);
  const [type, setType] = useState(start.type);
  const [command, setCommand] = useState(start.command);
  const [env, setEnv] = useState(start.env);
  const [url, setUrl] = useState(start.url);
  const [headers, setHeaders] = useState(start.headers);
  const check = useTask();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void check.run(async () => {
      const entry =
        type === "local"
          ? localEntry(command, env)
          : remoteEntry(type === "sse" ? "sse" : "http", url, headers);
      if (!(await save(name.trim(), entry)) || edited) return;
      for (const clear of [setName, setCommand, setEnv, setUrl, setHeaders]) clear("");
    });
  };
  const title = edited ? `Edit ${edited.name}` : "Add an MCP server";
  return (
    <form className="form card" aria-label={title} onSubmit={submit}>
      <h3>{edited ? title : "Add a server"}</h3>
      {check.error !== undefined && <ErrorBox error={check.error} />}
      <div className="form-row">
        <label>
          Name
          <input
            value={name}
            required
            readOnly={edited !== undefined}
            onChange={(event) => setName(event.target.value)}
          />
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
        {edited ? "Save server" : "Add server"}
      </button>
    </form>
  );
}

/** The fields of the form for an entry. */
function fieldsOf(edited: FormProps["edited"]) {
  const entry = edited?.entry;
  const joined = (values: Record<string, string> | undefined, separator: string) =>
    Object.entries(values ?? {})
      .map(([key, value]) => `${key}${separator}${value}`)
      .join("\n");
  const local = entry?.type === "local" ? entry : undefined;
  const remote = entry?.type === "remote" ? entry : undefined;
  const words = local ? [local.command, ...(local.args ?? [])].flat() : [];
  return {
    name: edited?.name ?? "",
    type: remote ? (remote.transport === "sse" ? "sse" : "http") : "local",
    command: words.map((word) => (/\s/.test(word) ? `"${word}"` : word)).join(" "),
    env: joined(local?.env, "="),
    url: remote?.url ?? "",
    headers: joined(remote?.headers, ": "),
  };
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
