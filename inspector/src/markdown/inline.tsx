/** Inline Markdown as React elements. Text becomes text nodes only; HTML in messages is shown, never used. */

import type { Token, Tokens } from "marked";
import type { ReactNode } from "react";
import { decodeEntities } from "./entities";

const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

export function inline(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link token={token as Tokens.Link} />;
    case "image":
      return <ImageLink token={token as Tokens.Image} />;
    case "text":
      return token.tokens ? inline(token.tokens) : decodeEntities((token as Tokens.Text).text);
    case "escape":
      return (token as Tokens.Escape).text;
    case "checkbox":
      return null;
    default:
      return token.raw;
  }
}

function Link({ token }: { token: Tokens.Link }) {
  const address = decodeEntities(token.href);
  const shown = inline(token.tokens);
  if (!SAFE_LINK.test(address)) return <span title={address}>{shown}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow" title={token.title ?? undefined}>
      {shown}
    </a>
  );
}

/** The page calls no other host, so a picture elsewhere is a link. */
function ImageLink({ token }: { token: Tokens.Image }) {
  const address = decodeEntities(token.href);
  const shown = token.text || address;
  if (!SAFE_LINK.test(address)) return <span title={address}>{shown}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {shown}
    </a>
  );
}
