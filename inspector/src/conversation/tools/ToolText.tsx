/** Text of a tool: Markdown if it looks like it, else as it is. */

import { lexer } from "marked";
import { useMemo } from "react";
import { markdownTokens } from "../../markdown/MarkdownBlock";
import { CopyButton } from "../../ui/CopyButton";

const MARKDOWN_CHARS = 20_000;
/** Marks that plain output of tools rarely has. */
const LOOKS_LIKE_MARKDOWN = /^(#{1,6} |```|[-*] \S|\d+\. \S|> |\|.+\|)|\*\*\S/m;

export function ToolText({ text }: { text: string }) {
  const tokens = useMemo(
    () => (text.length <= MARKDOWN_CHARS && LOOKS_LIKE_MARKDOWN.test(text) ? lexer(text) : undefined),
    [text],
  );
  return (
    <div className="tool-text-frame">
      <CopyButton text={text} label="Copy text" />
      {tokens ? (
        <div className="tool-markdown" tabIndex={0}>
          {markdownTokens(tokens)}
        </div>
      ) : (
        <pre className="tool-text" tabIndex={0}>
          {text}
        </pre>
      )}
    </div>
  );
}
