/** Text that is shown as it was typed, in pieces that a row can lay out in a frame. */

const MAX_CHARS = 4000;

export function verbatimPieces(text: string): { type: "verbatim"; text: string }[] {
  const pieces: { type: "verbatim"; text: string }[] = [];
  let start = 0;
  while (text.length - start > MAX_CHARS) {
    const newline = text.lastIndexOf("\n", start + MAX_CHARS);
    const end = newline > start ? newline + 1 : start + MAX_CHARS;
    pieces.push({ type: "verbatim", text: text.slice(start, end).replace(/\n$/, "") });
    start = end;
  }
  if (start < text.length) pieces.push({ type: "verbatim", text: text.slice(start) });
  return pieces;
}
