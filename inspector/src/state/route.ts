/** The page that the address names: `/ui/inbox`, `/ui/compare/{id}`, `/ui/sessions/{id}` and `/ui/servers/{server_id}`. */

import { Observable } from "./observable";

export type Route =
  | { page: "home" }
  | { page: "inbox" }
  | { page: "compare"; id?: string }
  | { page: "session"; id: string }
  | { page: "server"; id: string };

const BASE = "/ui/";

export function parseRoute(path: string): Route {
  const [kind, id, ...rest] = path.replace(/^\/ui\/?/, "").split("/");
  if (kind === "inbox" && !id) return { page: "inbox" };
  if (kind === "compare" && rest.length === 0)
    return id ? { page: "compare", id: decoded(id) } : { page: "compare" };
  if (!id || rest.length > 0) return { page: "home" };
  if (kind === "sessions") return { page: "session", id: decoded(id) };
  if (kind === "servers") return { page: "server", id: decoded(id) };
  return { page: "home" };
}

/** A segment that cannot be decoded stays as it is, like on the server. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function routePath(route: Route): string {
  if (route.page === "home") return BASE;
  if (route.page === "inbox") return `${BASE}inbox`;
  if (route.page === "compare") return `${BASE}compare${route.id ? `/${encodeURIComponent(route.id)}` : ""}`;
  return `${BASE}${route.page}s/${encodeURIComponent(route.id)}`;
}

export const currentRoute = new Observable<Route>(parseRoute(globalThis.location?.pathname ?? BASE));

export function go(route: Route): void {
  // The query stays, because it may name another endpoint.
  window.history.pushState(null, "", routePath(route) + window.location.search);
  currentRoute.set(route);
}

globalThis.addEventListener?.("popstate", () => currentRoute.set(parseRoute(window.location.pathname)));
