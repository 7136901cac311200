/** Syntax colours by lowlight (highlight.js): a tree of classes and text, no HTML. */

import { common, createLowlight } from "lowlight";

export type HighlightNode = string | { className: string; children: HighlightNode[] };

const lowlight = createLowlight(common);

/** Names that models write for languages that are registered under another one. */
const ALIASES: Record<string, string> = {
  console: "shell",
  tsx: "typescript",
  jsx: "javascript",
  jsonl: "json",
};
const CACHED = 200;
const cache = new Map<string, HighlightNode[]>();

/** Undefined if the language is not known. */
export function highlight(text: string, language: string): HighlightNode[] | undefined {
  const name = ALIASES[language.toLowerCase()] ?? language.toLowerCase();
  if (!lowlight.registered(name)) return undefined;
  const key = `${name}\0${text}`;
  const known = cache.get(key);
  if (known) return known;
  const nodes = lowlight.highlight(name, text).children.flatMap(converted);
  cache.set(key, nodes);
  for (const oldest of cache.keys()) {
    if (cache.size <= CACHED) break;
    cache.delete(oldest);
  }
  return nodes;
}

type HastNode = ReturnType<typeof lowlight.highlight>["children"][number];

function converted(node: HastNode): HighlightNode[] {
  if (node.type === "text") return [node.value];
  if (node.type !== "element") return [];
  const names = node.properties.className;
  const className = Array.isArray(names) ? names.join(" ") : "";
  return [{ className, children: node.children.flatMap(converted) }];
}
