/** Paths in the conversation: a click opens the file in the Files panel. */

import type { ToolCallLocation } from "@agentclientprotocol/sdk";
import { showFile } from "../state/selection";

const SHOWN = 5;

export function PathLink({ path, line }: { path: string; line?: number | null }) {
  return (
    <button
      type="button"
      className="path-link mono"
      title={`Open ${path} in the Files panel`}
      onClick={() => showFile(path)}
    >
      {path}
      {line ? `:${line}` : ""}
    </button>
  );
}

export function Locations({ locations }: { locations: readonly ToolCallLocation[] }) {
  if (locations.length === 0) return null;
  return (
    <div className="locations">
      {locations.slice(0, SHOWN).map((place, index) => (
        <PathLink key={index} path={place.path} line={place.line} />
      ))}
      {locations.length > SHOWN && <span className="muted">and {locations.length - SHOWN} more</span>}
    </div>
  );
}
