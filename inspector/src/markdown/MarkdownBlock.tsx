/** One block of Markdown. */

import { memo } from "react";
import { CopyButton } from "../ui/CopyButton";
import type { Block } from "./blocks";
import { inline } from "./inline";

export const MarkdownBlock = memo(function MarkdownBlock({ block }: { block: Block }) {
  switch (block.type) {
    case "heading":
      // Two levels below the headings of the page.
      return (
        <p
          className={`md-heading md-h${block.level}`}
          role="heading"
          aria-level={Math.min(6, block.level + 2)}
        >
          {inline(block.text)}
        </p>
      );
    case "code":
      return (
        <div className={block.continued ? "md-code md-code-continued" : "md-code"}>
          {!block.continued && (
            <div className="md-code-bar">
              <span>{block.language || "text"}</span>
              <CopyButton text={block.text} label="Copy code" />
            </div>
          )}
          <pre tabIndex={0}>
            <code>{block.text}</code>
          </pre>
        </div>
      );
    case "item":
      return (
        <div className="md-item" style={{ paddingInlineStart: `${block.depth * 1.25}em` }}>
          <span className="md-marker" aria-hidden="true">
            {/\d/.test(block.marker) ? block.marker : "•"}
          </span>
          <span>{inline(block.text)}</span>
        </div>
      );
    case "quote":
      return <blockquote>{inline(block.text)}</blockquote>;
    case "rule":
      return <hr />;
    case "table":
      return <Table rows={block.rows} />;
    default:
      return <p>{inline(block.text)}</p>;
  }
});

function Table({ rows }: { rows: string[][] }) {
  const [head = [], ...body] = rows;
  return (
    <div className="md-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col">
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
