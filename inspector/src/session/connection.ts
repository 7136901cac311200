/**
 * Where to connect and with which token. A token in the address (`?token=`) is taken and removed at once, so
 * that it is in no screenshot, history or referrer. Tokens are kept per endpoint: a link with another `url`
 * never gets the token of this one.
 */

import type { Endpoint } from "../api/http";
import { isObject } from "../json";

const KEY = "sandbox-agent-inspector-token";

export function endpointFromAddress(): Endpoint {
  const query = new URLSearchParams(window.location.search);
  const url = (query.get("url") ?? "").replace(/\/+$/, "");
  const given = query.get("token");
  const headers = headersFrom(query.get("headers"));
  if (given !== null || query.has("headers")) {
    query.delete("token");
    query.delete("headers");
    const rest = query.toString();
    window.history.replaceState(
      null,
      "",
      window.location.pathname + (rest ? `?${rest}` : "") + window.location.hash,
    );
  }
  return { url, token: given ?? savedToken(url), headers };
}

/** Another endpoint needs a page whose security policy allows it, so the page is loaded anew for it. */
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

function headersFrom(text: string | null): Record<string, string> {
  if (!text) return {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (!isObject(parsed)) return {};
    return Object.fromEntries(
      Object.entries(parsed).map(([name, value]) => [name.toLowerCase(), String(value)]),
    );
  } catch {
    return {};
  }
}
