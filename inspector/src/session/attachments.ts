/** Files for the agent: uploaded into the session's directory, then linked in the prompt. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { ServerApi } from "../api/server";

export interface Attachment {
  name: string;
  path: string;
  size: number;
  mimeType?: string;
}

const FOLDER = ".sandbox-agent/attachments";

export async function uploadAttachment(api: ServerApi, directory: string, file: File): Promise<Attachment> {
  const safe = file.name.replace(/[/\\\0]/g, "_");
  // The prefix keeps two files of one name apart.
  const path = `${directory.replace(/\/$/, "")}/${FOLDER}/${crypto.randomUUID().slice(0, 8)}-${safe}`;
  await api.writeFile(path, file);
  return { name: file.name, path, size: file.size, ...(file.type ? { mimeType: file.type } : {}) };
}

export function attachmentBlock(attachment: Attachment): ContentBlock {
  const { name, path, size, mimeType } = attachment;
  const uri = `file://${path.split("/").map(encodeURIComponent).join("/")}`;
  const meta = { "sandboxagent.dev": { filename: name } };
  return { type: "resource_link", uri, name, size, ...(mimeType ? { mimeType } : {}), _meta: meta };
}
