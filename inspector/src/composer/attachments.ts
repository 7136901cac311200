/**
 * Files for the agent. New ones are uploaded into the session's directory; files that exist there are only named.
 * A prompt links them, and carries pictures themselves if the agent takes them.
 */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { ServerApi } from "../api/server";
import { base64 } from "../ui/base64";

export interface Attachment {
  name: string;
  path: string;
  size?: number;
  mimeType?: string;
}

const FOLDER = ".sandbox-agent/attachments";
/** Larger pictures are linked: base64 in one message costs a third more, and models refuse them. */
const MAX_PICTURE_BYTES = 8_000_000;
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

export async function uploadAttachment(api: ServerApi, directory: string, file: File): Promise<Attachment> {
  const safe = file.name.replace(/[/\\\0]/g, "_");
  // The prefix keeps two files of one name apart.
  const path = `${directory.replace(/\/$/, "")}/${FOLDER}/${crypto.randomUUID().slice(0, 8)}-${safe}`;
  await api.writeFile(path, file);
  return { name: file.name, path, size: file.size, ...(file.type ? { mimeType: file.type } : {}) };
}

/** The block of an attachment: the picture itself if the agent takes pictures, else a link to the file. */
export async function attachmentBlock(
  api: ServerApi,
  attachment: Attachment,
  takesPictures: boolean,
): Promise<ContentBlock> {
  const { name, path, size, mimeType } = attachment;
  const uri = `file://${path.split("/").map(encodeURIComponent).join("/")}`;
  if (takesPictures && PICTURES.test(mimeType ?? "") && (size ?? 0) <= MAX_PICTURE_BYTES) {
    const data = await base64(await api.readFile(path));
    return { type: "image", data, mimeType: mimeType!, uri };
  }
  const meta = { "sandboxagent.dev": { filename: name } };
  const facts = { ...(size === undefined ? {} : { size }), ...(mimeType ? { mimeType } : {}) };
  return { type: "resource_link", uri, name, ...facts, _meta: meta };
}
