/** Inline Markdown as React elements. Text becomes text nodes only, never HTML. */

import type { ReactNode } from "react";

const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

const TOKEN =
  /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|!?\[([^\]\n]{0,500})\]\(([^\s)]{1,2000})(?:\s+"[^"]*")?\)|\*\*(?=\S)([\s\S]+?)(?<=\S)\*\*|__(?=\S)([\s\S]+?)(?<=\S)__|~~(?=\S)([\s\S]+?)(?<=\S)~~|\*(?=[^\s*])([\s\S]+?)(?<=[^\s*])\*|(?<![\w])_(?=[^\s_])([\s\S]+?)(?<=[^\s_])_(?![\w])|(https?:\/\/[^\s<>()"']+[^\s<>()"'.,;:!?])/g;

export function inline(text: string, depth = 0): ReactNode {
  if (depth > 4) return text;
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(element(match, parts.length, depth + 1));
    end = match.index + match[0].length;
  }
  if (end === 0) return text;
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

function element(match: RegExpMatchArray, key: number, depth: number): ReactNode {
  const [whole, ticks, code, label, address, bold, bold2, strike, italic, italic2, bare] = match;
  if (ticks) return <code key={key}>{code}</code>;
  if (address !== undefined) return link(key, label || address, address, depth);
  if (bare) return link(key, bare, bare, 5);
  if (bold ?? bold2) return <strong key={key}>{inline((bold ?? bold2)!, depth)}</strong>;
  if (strike) return <del key={key}>{inline(strike, depth)}</del>;
  if (italic ?? italic2) return <em key={key}>{inline((italic ?? italic2)!, depth)}</em>;
  return whole;
}

function link(key: number, label: string, address: string, depth: number): ReactNode {
  const shown = inline(label, depth);
  if (!SAFE_LINK.test(address))
    return (
      <span key={key} title={address}>
        {shown}
      </span>
    );
  return (
    <a key={key} href={address} target="_blank" rel="noopener noreferrer nofollow">
      {shown}
    </a>
  );
}
