/** Code in colours. The highlighter is loaded with the first code block; until then, and on failure, plain text. */

import { useEffect, useState, type ReactNode } from "react";
import type { HighlightNode } from "./highlight";

/** Longer pieces stay plain: colouring them takes more than a frame. */
const MAX_CHARS = 60_000;

type Highlight = (text: string, language: string) => HighlightNode[] | undefined;
let highlighter: Highlight | undefined;

export function Highlighted({ text, language }: { text: string; language: string }) {
  const [highlight, setHighlight] = useState<Highlight | undefined>(() => highlighter);
  const wanted = language !== "" && text.length <= MAX_CHARS;
  useEffect(() => {
    if (highlight || !wanted) return undefined;
    let left = false;
    import("./highlight").then(
      (loaded) => {
        highlighter = loaded.highlight;
        if (!left) setHighlight(() => loaded.highlight);
      },
      // The page is newer than the server's files, or the server is gone.
      () => undefined,
    );
    return () => {
      left = true;
    };
  }, [highlight, wanted]);
  const nodes = wanted ? highlight?.(text, language) : undefined;
  return nodes ? draw(nodes) : text;
}

function draw(nodes: HighlightNode[]): ReactNode {
  return nodes.map((node, index) =>
    typeof node === "string" ? (
      node
    ) : (
      <span key={index} className={node.className}>
        {draw(node.children)}
      </span>
    ),
  );
}
