/** Blocks of a message that are not text: pictures, sound, files. No other host is contacted. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { Icon } from "../ui/Icon";

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
  if (block.type === "image" && block.data) {
    return (
      <img
        className="picture"
        src={`data:${imageType(block.mimeType)};base64,${block.data}`}
        alt="Sent by the agent or the user"
      />
    );
  }
  if (block.type === "audio")
    return (
      <span className="file-chip">
        <Icon name="file" size={14} /> audio, {block.mimeType}
      </span>
    );
  if (block.type === "resource_link")
    return (
      <span className="file-chip" title={block.uri}>
        <Icon name="file" size={14} /> {block.name || block.uri}
      </span>
    );
  if (block.type === "resource") {
    const { uri } = block.resource;
    const text = "text" in block.resource ? block.resource.text : undefined;
    return (
      <div className="resource">
        <span className="file-chip">
          <Icon name="file" size={14} /> {uri}
        </span>
        {text && <pre tabIndex={0}>{text}</pre>}
      </div>
    );
  }
  return <span className="file-chip">{block.type}</span>;
}

/** Raster types only: an SVG may contain scripts. */
function imageType(mimeType: string): string {
  return /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(mimeType) ? mimeType : "image/png";
}
