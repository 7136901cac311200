/** A logged request as a curl command and as a Python program. The token is a variable: the log has none. */

import type { LoggedRequest } from "../api/requestLog";

export function asCurl(request: LoggedRequest, withToken: boolean): string {
  const parts = [`curl -X ${request.method} ${quoted(request.url)}`];
  if (withToken) parts.push(`-H "Authorization: Bearer $SANDBOX_AGENT_TOKEN"`);
  for (const [name, value] of Object.entries(request.headers))
    parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (request.body !== undefined)
    parts.push(request.body === "(binary)" ? "--data-binary @FILE" : `--data ${quoted(request.body)}`);
  return parts.join(" \\\n  ");
}

export function asPython(request: LoggedRequest, withToken: boolean): string {
  const binary = request.body === "(binary)";
  const headers = { ...request.headers };
  const lines = [
    ...(withToken ? ["import os", ""] : []),
    "import httpx",
    "",
    `headers = ${pythonDict(headers)}`,
  ];
  if (withToken) lines.push('headers["authorization"] = f"Bearer {os.environ[\'SANDBOX_AGENT_TOKEN\']}"');
  if (binary) lines.push('content = open("FILE", "rb").read()');
  else if (request.body !== undefined) lines.push(`content = ${pythonText(request.body)}`);
  const content = request.body === undefined ? "" : ", content=content";
  lines.push(
    `response = httpx.request(${pythonText(request.method)}, ${pythonText(request.url)}, headers=headers${content}, timeout=None)`,
  );
  lines.push("print(response.status_code, response.text)");
  return `${lines.join("\n")}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** JSON strings are Python strings, except that Python has no `\/`, which JSON.stringify never writes. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}

function pythonDict(map: Record<string, string>): string {
  return `{${Object.entries(map)
    .map(([key, value]) => `${pythonText(key)}: ${pythonText(value)}`)
    .join(", ")}}`;
}
