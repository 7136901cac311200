/** Files of the session's directory that match an `@path` before the cursor. */

import type { FsEntry } from "../api/bodies";
import type { Suggestion } from "./SuggestionMenu";

const SHOWN = 40;

export interface Mention {
  /** Where the `@` is. */
  start: number;
  /** The folder below the session's directory, without a slash at the end. */
  folder: string;
  /** The beginning of a name in it. */
  prefix: string;
}

/** The `@path` that ends at the cursor. */
export function mentionAt(text: string, cursor: number): Mention | undefined {
  const found = /(?:^|\s)@([^\s@]*)$/.exec(text.slice(0, cursor));
  if (!found) return undefined;
  const typed = found[1]!;
  const slash = typed.lastIndexOf("/");
  return {
    start: cursor - typed.length - 1,
    folder: slash < 0 ? "" : typed.slice(0, slash),
    prefix: typed.slice(slash + 1),
  };
}

export function matchingFiles(entries: readonly FsEntry[], mention: Mention): Suggestion[] {
  const wanted = mention.prefix.toLowerCase();
  return entries
    .filter((entry) => entry.name.toLowerCase().includes(wanted))
    .filter((entry) => wanted.startsWith(".") || !entry.name.startsWith("."))
    .sort((a, b) => rank(a, wanted) - rank(b, wanted) || a.name.localeCompare(b.name))
    .slice(0, SHOWN)
    .map((entry) => {
      const path = mention.folder ? `${mention.folder}/${entry.name}` : entry.name;
      const folder = entry.entryType === "directory";
      return {
        key: entry.path,
        label: folder ? `${path}/` : path,
        detail: folder ? "folder" : "",
        start: mention.start,
        // A folder stays open for the next part of the path.
        insert: folder ? `@${path}/` : `@${path} `,
        file: folder ? undefined : { name: path, path: entry.path, size: entry.size },
      };
    });
}

function rank(entry: FsEntry, wanted: string): number {
  return entry.name.toLowerCase().startsWith(wanted) ? 0 : 1;
}
