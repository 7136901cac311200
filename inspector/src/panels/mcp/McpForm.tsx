/** Adds an MCP server to the config of a directory, or changes one. */

import { useState, type FormEvent } from "react";
import { ErrorBox } from "../../ui/ErrorBox";
import { useTask } from "../../ui/hooks/useTask";
import type { SaveEntry } from "../ConfigPanel";
import { entryOf, fieldsOf, type McpEntry, type McpFields, type McpType } from "./mcpEntry";
import { SecretPairs } from "./SecretPairs";

interface Props {
  save: SaveEntry<"mcp">;
  edited?: { name: string; entry: McpEntry };
}

export function McpForm({ save, edited }: Props) {
  const [fields, setFields] = useState(() => fieldsOf(edited?.name ?? "", edited?.entry));
  const set = (change: Partial<McpFields>) => setFields((before) => ({ ...before, ...change }));
  const check = useTask();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void check.run(async () => {
      const saved = await save(fields.name.trim(), entryOf(fields, edited?.entry));
      if (saved && !edited) setFields({ ...fieldsOf("", undefined), type: fields.type });
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
            value={fields.name}
            required
            readOnly={edited !== undefined}
            onChange={(event) => set({ name: event.target.value })}
          />
        </label>
        <label>
          Type
          <select value={fields.type} onChange={(event) => set({ type: event.target.value as McpType })}>
            <option value="local">local command</option>
            <option value="http">remote, HTTP</option>
            <option value="sse">remote, SSE</option>
          </select>
        </label>
      </div>
      {fields.type === "local" ? (
        <>
          <label>
            Command
            <input
              className="mono"
              value={fields.command}
              required
              placeholder="npx -y some-mcp-server"
              onChange={(event) => set({ command: event.target.value })}
            />
          </label>
          <SecretPairs
            legend="Environment"
            one="variable"
            separator="="
            pairs={fields.env}
            change={(env) => set({ env })}
          />
        </>
      ) : (
        <>
          <label>
            Address
            <input
              className="mono"
              type="url"
              value={fields.url}
              required
              onChange={(event) => set({ url: event.target.value })}
            />
          </label>
          <SecretPairs
            legend="Headers"
            one="header"
            separator=":"
            pairs={fields.headers}
            change={(headers) => set({ headers })}
          />
        </>
      )}
      <button type="submit" className="button primary">
        {edited ? "Save server" : "Add server"}
      </button>
    </form>
  );
}
