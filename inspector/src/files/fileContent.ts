/** What the Files panel shows of a file: text, a picture, or the first bytes of anything else. */

import type { ServerApi } from "../api/server";

interface Known {
  size: number;
  etag: string;
}

export type FileContent = Known &
  (
    | { kind: "text"; text: string; whole: boolean; previewed: boolean }
    | { kind: "picture"; source: Blob }
    | { kind: "binary"; head: Uint8Array }
  );

/** Typing in a text field with more than this is slow. */
const MAX_TEXT_BYTES = 1_000_000;
const MAX_PICTURE_BYTES = 20_000_000;
const HEAD_BYTES = 512;

const PICTURES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
};

export async function readShown(api: ServerApi, path: string): Promise<FileContent> {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  const picture = PICTURES[extension];
  const limit = picture ? MAX_PICTURE_BYTES : MAX_TEXT_BYTES;
  const { blob, size, etag } = await api.readPart(path, limit);
  const whole = blob.size >= size;
  if (picture && whole) return { kind: "picture", source: new Blob([blob], { type: picture }), size, etag };
  const data = new Uint8Array(await blob.arrayBuffer());
  const text = decoded(data, whole);
  if (text === undefined) return { kind: "binary", head: data.slice(0, HEAD_BYTES), size, etag };
  return { kind: "text", text, whole, previewed: extension === "md" || extension === "csv", size, etag };
}

/** Undefined if the bytes are not UTF-8; the last character of a part may be cut. */
function decoded(data: Uint8Array, whole: boolean): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data, { stream: !whole });
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
