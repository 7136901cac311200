/** Blocks of a message that are not text: pictures, sound, files. No other host is contacted. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { Icon } from "../../ui/Icon";
import { PathLink } from "./PathLink";
import { Picture, ServerPicture } from "./Picture";

export function Attachments({ blocks }: { blocks: ContentBlock[] }) {
  return (
    <div className="attachments">
      {blocks.map((block, index) => (
        <Attachment key={index} block={block} />
      ))}
    </div>
  );
}

export function Attachment({ block }: { block: ContentBlock }) {
  if (block.type === "image") {
    if (block.data) return <Picture source={`data:${imageType(block.mimeType)};base64,${block.data}`} />;
    return <PictureByUri uri={block.uri ?? ""} />;
  }
  if (block.type === "audio")
    return (
      <span className="file-chip">
        <Icon name="file" size={14} /> audio, {block.mimeType}
      </span>
    );
  if (block.type === "resource_link") return <FileChip name={block.name || block.uri} uri={block.uri} />;
  if (block.type === "resource") {
    const { uri } = block.resource;
    const text = "text" in block.resource ? block.resource.text : undefined;
    return (
      <div className="resource">
        <FileChip name={uri} uri={uri} />
        {text && <pre tabIndex={0}>{text}</pre>}
      </div>
    );
  }
  return <span className="file-chip">{block.type}</span>;
}

/** A file of the server is read through it; an address elsewhere becomes a link, because the page calls no one. */
function PictureByUri({ uri }: { uri: string }) {
  const path = filePath(uri);
  if (path) return <ServerPicture path={path} />;
  if (uri.startsWith("data:image/")) return <Picture source={uri} />;
  return <FileChip name={uri || "image"} uri={uri} />;
}

function FileChip({ name, uri }: { name: string; uri: string }) {
  const path = filePath(uri);
  if (path)
    return (
      <span className="file-chip">
        <Icon name="file" size={14} /> <PathLink path={path} />
      </span>
    );
  const web = /^https?:\/\//.test(uri);
  return (
    <span className="file-chip" title={uri}>
      <Icon name="file" size={14} />{" "}
      {web ? (
        <a href={uri} target="_blank" rel="noopener noreferrer nofollow">
          {name}
        </a>
      ) : (
        name
      )}
    </span>
  );
}

function filePath(uri: string): string | undefined {
  if (uri.startsWith("/")) return uri;
  if (!uri.startsWith("file://")) return undefined;
  try {
    return decodeURIComponent(uri.slice("file://".length));
  } catch {
    return uri.slice("file://".length);
  }
}

/** Inside an `img` element an SVG runs no script and loads nothing. */
function imageType(mimeType: string): string {
  return /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/.test(mimeType) ? mimeType : "image/png";
}
