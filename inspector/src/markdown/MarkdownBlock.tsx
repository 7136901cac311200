/** One block of Markdown. */

import type { Token, Tokens } from "marked";
import { memo, type ReactNode } from "react";
import { CodeBlock } from "./CodeBlock";
import { codeText, type Block } from "./blocks";
import { inline } from "./inline";

/** `message` reads the whole text, from which a code block is copied: it may have grown since the drawing. */
export const MarkdownBlock = memo(function MarkdownBlock({
  block,
  message,
}: {
  block: Block;
  message: () => string;
}) {
  if (block.type === "code") {
    const { language, continued, start } = block;
    return (
      <CodeBlock
        language={language}
        text={block.text}
        continued={continued}
        whole={() => codeText(message(), start)}
      />
    );
  }
  if (block.type === "item") return <Item item={block.item} marker={block.marker} loose={block.loose} />;
  const drawn = <TokenView token={block.token} />;
  return block.continued ? <div className="md-continued">{drawn}</div> : drawn;
}, sameBlock);

function sameBlock(before: { block: Block }, after: { block: Block }): boolean {
  return before.block === after.block;
}

export function markdownTokens(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <TokenView key={index} token={token} />);
}

function TokenView({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "heading":
      return <Heading token={token as Tokens.Heading} />;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "text":
      return (
        <span className="md-text">{token.tokens ? inline(token.tokens) : (token as Tokens.Text).text}</span>
      );
    case "blockquote":
      return <blockquote>{markdownTokens(token.tokens ?? [])}</blockquote>;
    case "hr":
      return <hr />;
    case "table":
      return <Table token={token as Tokens.Table} />;
    case "code":
      return <NestedCode code={token as Tokens.Code} />;
    case "list":
      return <List list={token as Tokens.List} />;
    case "space":
    case "def":
    case "checkbox":
      return null;
    case "html":
      return <p className="md-html">{token.raw.trimEnd()}</p>;
    default:
      return <p>{token.raw}</p>;
  }
}

function Heading({ token }: { token: Tokens.Heading }) {
  // Two levels below the headings of the page.
  return (
    <p className={`md-heading md-h${token.depth}`} role="heading" aria-level={Math.min(6, token.depth + 2)}>
      {inline(token.tokens)}
    </p>
  );
}

function NestedCode({ code }: { code: Tokens.Code }) {
  const language = code.lang?.split(/\s/)[0] ?? "";
  return <CodeBlock language={language} text={code.text} continued={false} whole={() => code.text} />;
}

function List({ list }: { list: Tokens.List }) {
  const first = Number(list.start) || 1;
  return list.items.map((item, index) => (
    <Item key={index} item={item} marker={list.ordered ? `${first + index}.` : "•"} loose={list.loose} />
  ));
}

function Item({ item, marker, loose }: { item: Tokens.ListItem; marker: string; loose: boolean }) {
  return (
    <div className={loose ? "md-item loose" : "md-item"}>
      {item.task ? (
        <input
          type="checkbox"
          className="md-task"
          checked={item.checked === true}
          readOnly
          disabled
          aria-label={item.checked ? "done" : "to do"}
        />
      ) : (
        <span className="md-marker" aria-hidden="true">
          {marker}
        </span>
      )}
      <div className="md-item-body">{markdownTokens(item.tokens)}</div>
    </div>
  );
}

function Table({ token }: { token: Tokens.Table }) {
  const aligned = (column: number) => token.align[column] ?? undefined;
  return (
    <div className="md-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} scope="col" data-align={aligned(index)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} data-align={aligned(column)}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
