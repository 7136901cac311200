/** The directory of a session: completed from the server's folders, checked, and created if it is missing. */

import { useCallback, useEffect, useId, useRef } from "react";
import { ApiProblem } from "../api/problem";
import type { ServerApi } from "../api/server";
import { useAppState } from "../state/appState";
import { ErrorBox } from "../ui/ErrorBox";
import { useLoaded } from "../ui/hooks/useLoaded";
import { useTask } from "../ui/hooks/useTask";
import { recentDirectories } from "./recentDirectories";

const SHOWN = 30;

const PROBLEMS: Record<string, string> = {
  missing: "This directory does not exist.",
  file: "This is a file, not a directory.",
};

export function DirectoryField({ value, change }: { value: string; change: (value: string) => void }) {
  const { api } = useAppState();
  const list = useId();
  const task = useTask();
  const parent = value.startsWith("/") ? value.slice(0, value.lastIndexOf("/") + 1) : "";
  const folders = useLoaded(useCallback(() => foldersIn(api, parent), [api, parent]));
  const state = useLoaded(useCallback(() => stateOf(api, value.trim()), [api, value]));
  const problem = state.loading ? "" : (PROBLEMS[state.value ?? ""] ?? "");
  const input = useRef<HTMLInputElement>(null);
  // The form is not sent with it: agents do not start in a directory that does not exist.
  useEffect(() => input.current?.setCustomValidity(problem), [problem]);
  const create = () => void task.run(() => api.makeDirectory(value.trim()).then(state.reload));
  const offered = [...new Set([...recentDirectories(), ...(folders.value ?? [])])];
  return (
    <div className="directory-field">
      <label>
        Directory
        <input
          ref={input}
          value={value}
          onChange={(event) => change(event.target.value)}
          required
          pattern="/.*"
          title="An absolute path on the server's machine"
          className="mono"
          spellCheck={false}
          autoComplete="off"
          list={list}
        />
      </label>
      <datalist id={list}>
        {offered.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      {problem && (
        <p className="warn-text small-text" role="status">
          {problem}{" "}
          {state.value === "missing" && (
            <button type="button" className="link-button" disabled={task.running} onClick={create}>
              Create it
            </button>
          )}
        </p>
      )}
      {task.error !== undefined && <ErrorBox error={task.error} />}
    </div>
  );
}

async function foldersIn(api: ServerApi, parent: string): Promise<string[]> {
  if (!parent) return [];
  const entries = await api.entries(parent, true).catch(() => []);
  const folders = entries.filter((entry) => entry.entryType === "directory" && !entry.name.startsWith("."));
  return folders.slice(0, SHOWN).map((entry) => entry.path);
}

/** Files may be switched off or out of reach on the server; then nothing is said about the directory. */
async function stateOf(api: ServerApi, path: string): Promise<"directory" | "file" | "missing" | "unknown"> {
  if (!path.startsWith("/")) return "unknown";
  try {
    return (await api.stat(path)).entryType === "directory" ? "directory" : "file";
  } catch (error) {
    return error instanceof ApiProblem && error.status === 404 ? "missing" : "unknown";
  }
}
