/** Paths in the conversation: with a server, a click opens the file in the Files panel. */

import type { ToolCallLocation } from "@agentclientprotocol/sdk";
import { useConnectedApp } from "../../state/appContext";
import { showFile } from "../../state/selection";

const SHOWN = 5;

export function PathLink({ path, line }: { path: string; line?: number | null }) {
  const here = useConnectedApp() !== null;
  const place = line ? `${path}:${line}` : path;
  // Without a server there are no files to open.
  if (!here) return <span className="path-text mono">{place}</span>;
  return (
    <button
      type="button"
      className="path-link mono"
      title={`Open ${path} in the Files panel`}
      onClick={() => showFile(path)}
    >
      {place}
    </button>
  );
}

/** The places that say more than the heads of the changes beside them. */
export function placesBeside(
  locations: readonly ToolCallLocation[],
  content: readonly { type: string; path?: string }[],
): ToolCallLocation[] {
  const changed = new Set(content.filter((one) => one.type === "diff").map((one) => one.path));
  return locations.filter((place) => Boolean(place.line) || !changed.has(place.path));
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
