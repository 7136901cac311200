/**
 * The link of a share: `/ui/shared/{server_id}#ticket=...`. The ticket is taken out of the address at once and kept
 * for the tab, so that a reload works and no screenshot or history shows it.
 */

const KEY = "sandbox-agent-inspector-ticket:";

export interface SharedLink {
  serverId: string;
  /** Of the server; empty for the page's own origin. */
  url: string;
  ticket: string;
}

export function sharedLink(): SharedLink | undefined {
  const [, encoded] = /^\/ui\/shared\/([^/]+)$/.exec(window.location.pathname) ?? [];
  if (!encoded) return undefined;
  const serverId = decodeURIComponent(encoded);
  const url = (new URLSearchParams(window.location.search).get("url") ?? "").replace(/\/+$/, "");
  const given = new URLSearchParams(window.location.hash.slice(1)).get("ticket");
  const key = `${KEY}${url}|${serverId}`;
  if (given !== null) {
    sessionStorage.setItem(key, given);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  }
  return { serverId, url, ticket: given ?? sessionStorage.getItem(key) ?? "" };
}
