/** A file that is not edited: a picture, Markdown, a table, or the bytes of a binary file. */

import { lexer } from "marked";
import { useCallback } from "react";
import { Picture } from "../conversation/rows/Picture";
import { markdownTokens } from "../markdown/MarkdownBlock";
import { base64 } from "../ui/base64";
import { useLoaded } from "../ui/hooks/useLoaded";
import { csvRows } from "./csv";
import type { FileContent } from "./fileContent";

const SHOWN_ROWS = 500;
/** A row of bytes fits into the panel at its first width. */
const ROW_BYTES = 8;

export function FilePreview({ path, content }: { path: string; content: FileContent }) {
  if (content.kind === "picture") return <PictureFile path={path} source={content.source} />;
  if (content.kind === "binary")
    return (
      <div className="panel-scroll">
        <pre className="hex" tabIndex={0} aria-label="First bytes">
          {hexLines(content.head)}
        </pre>
      </div>
    );
  if (path.toLowerCase().endsWith(".csv")) return <CsvTable text={content.text} />;
  return (
    <div className="panel-scroll file-markdown message" tabIndex={0}>
      {markdownTokens(lexer(content.text))}
    </div>
  );
}

function PictureFile({ path, source }: { path: string; source: Blob }) {
  const load = useCallback(async () => `data:${source.type};base64,${await base64(source)}`, [source]);
  const { value } = useLoaded(load);
  return <div className="panel-scroll">{value && <Picture source={value} name={path} />}</div>;
}

function CsvTable({ text }: { text: string }) {
  const [head = [], ...rows] = csvRows(text, SHOWN_ROWS + 1);
  return (
    <div className="panel-scroll md-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function hexLines(data: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < data.length; at += ROW_BYTES) {
    const row = [...data.slice(at, at + ROW_BYTES)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(3 * ROW_BYTES - 1)}  ${text}`);
  }
  return lines.join("\n");
}
