/**
 * The endpoint to connect to and its token. A token in the address (`#token=`, or `?token=` of older links) is
 * taken and removed at once, so that no screenshot, history or referrer shows it. Tokens are stored per
 * endpoint: a link with another `url` never gets the token of this one. Headers for a proxy in front of the
 * server may come from the address too, but none that the server itself reads.
 */

import type { Endpoint } from "../api/http";
import { isObject, parseJson, plainText } from "../json";

const KEY = "sandbox-agent-inspector-token";
/**
 * A link of another site must not change what the user's calls mean: which environment an agent gets, who
 * calls, how much of a file is read, which events are skipped.
 */
const READ_BY_SERVER =
  /^(x-sandbox-agent-.*|authorization|accept|content-type|prefer|last-event-id|if-.*|range)$/;

export function endpointFromAddress(): Endpoint {
  const query = new URLSearchParams(window.location.search);
  const fragment = new URLSearchParams(window.location.hash.slice(1));
  const url = (query.get("url") ?? "").replace(/\/+$/, "");
  const given = fragment.get("token") ?? query.get("token");
  const headers = headersFromLink(fragment.get("headers") ?? query.get("headers"));
  if (given !== null || fragment.has("headers") || query.has("headers")) {
    for (const parameters of [query, fragment]) {
      parameters.delete("token");
      parameters.delete("headers");
    }
    const rest =
      (query.size > 0 ? `?${query.toString()}` : "") + (fragment.size > 0 ? `#${fragment.toString()}` : "");
    window.history.replaceState(null, "", window.location.pathname + rest);
  }
  return { url, token: given ?? savedToken(url), headers };
}

/** Load the page again for another endpoint: its security policy allows one endpoint only. */
export function openEndpoint(url: string): void {
  window.location.assign(url ? `/ui/?url=${encodeURIComponent(url)}` : "/ui/");
}

export function savedToken(url: string): string {
  return read(sessionStorage, url) || read(localStorage, url);
}

export function saveToken(endpoint: Endpoint, remember: boolean): void {
  forgetToken(endpoint);
  const storage = remember ? localStorage : sessionStorage;
  if (endpoint.token) storage.setItem(`${KEY}:${endpoint.url}`, endpoint.token);
}

export function forgetToken(endpoint: Endpoint): void {
  for (const storage of [sessionStorage, localStorage]) storage.removeItem(`${KEY}:${endpoint.url}`);
}

function read(storage: Storage, url: string): string {
  return storage.getItem(`${KEY}:${url}`) ?? "";
}

/** The headers of a link that may be sent with every call. */
export function headersFromLink(text: string | null): Record<string, string> {
  const parsed = parseJson(text ?? "");
  if (!isObject(parsed)) return {};
  return Object.fromEntries(
    Object.entries(parsed)
      .map(([name, value]): [string, string] => [name.trim().toLowerCase(), plainText(value)])
      .filter(([name]) => !READ_BY_SERVER.test(name)),
  );
}
