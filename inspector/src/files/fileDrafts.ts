/** Unsaved edits of files, kept in the browser until they are saved or discarded. */

import { isObject, parseJson, textAt } from "../json";
import { readStored, removeStored, writeStored } from "../ui/hooks/useStored";

export interface FileDraft {
  text: string;
  /** The version that was edited. */
  etag: string;
}

export const fileDrafts = {
  get(path: string): FileDraft | undefined {
    const stored = parseJson(readStored(`file:${path}`) ?? "");
    if (!isObject(stored)) return undefined;
    return { text: textAt(stored, "text") ?? "", etag: textAt(stored, "etag") ?? "" };
  },
  set(path: string, draft: FileDraft): void {
    writeStored(`file:${path}`, JSON.stringify(draft));
  },
  delete(path: string): void {
    removeStored(`file:${path}`);
  },
};
