/** Rows of a CSV text (RFC 4180): quoted fields may hold commas, line ends and doubled quotes. */

export function csvRows(text: string, limit: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length && rows.length < limit) {
    const [field, end] = text[at] === '"' ? quoted(text, at) : plain(text, at);
    row.push(field);
    at = end;
    if (text[at] === ",") {
      at += 1;
      if (at === text.length) row.push("");
      continue;
    }
    rows.push(row);
    row = [];
    at += text.startsWith("\r\n", at) ? 2 : 1;
  }
  return rows;
}

function plain(text: string, start: number): [string, number] {
  let end = start;
  while (end < text.length && !",\r\n".includes(text[end]!)) end += 1;
  return [text.slice(start, end), end];
}

function quoted(text: string, start: number): [string, number] {
  let end = start + 1;
  while (end < text.length) {
    if (text[end] !== '"') end += 1;
    else if (text[end + 1] === '"') end += 2;
    else break;
  }
  return [text.slice(start + 1, end).replaceAll('""', '"'), end + 1];
}
