/** The files in all folders below a directory, for an `@name` without a path. A large tree is listed in part. */

import type { FsEntry } from "../api/bodies";
import type { ServerApi } from "../api/server";

const MAX_FOLDERS = 100;
const SKIPPED_FOLDERS = /^(\.|node_modules$|__pycache__$)/;

/** Breadth first, each with its path below the directory as its name; those of the directory itself are not in it. */
export async function filesBelow(api: ServerApi, directory: string): Promise<FsEntry[]> {
  const start = directory.replace(/\/$/, "");
  const found: FsEntry[] = [];
  let folders = [start];
  for (let read = 0; folders.length > 0 && read < MAX_FOLDERS; read += folders.length) {
    const wanted = folders.slice(0, MAX_FOLDERS - read);
    const entries = (await Promise.all(wanted.map((one) => api.entries(one, true).catch(() => [])))).flat();
    folders = entries
      .filter((entry) => entry.entryType === "directory" && !SKIPPED_FOLDERS.test(entry.name))
      .map((entry) => entry.path);
    const files = entries.filter((entry) => entry.entryType === "file" && !entry.name.startsWith("."));
    for (const file of files) {
      const name = file.path.slice(start.length + 1);
      if (name.includes("/")) found.push({ ...file, name });
    }
  }
  return found;
}
