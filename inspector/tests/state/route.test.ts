/** The addresses of the page, and links with headers. */

import { expect, test } from "vitest";
import { headersFromLink } from "../../src/state/endpoint";
import { parseRoute, routePath } from "../../src/state/route";

test.each(["/ui/", "/ui/sessions/a%2Fb", "/ui/servers/x%20y"])(
  "the address %s survives reading and writing",
  (path) => {
    expect(routePath(parseRoute(path))).toBe(path);
  },
);

test("a stray percent sign in an address is itself", () => {
  expect(parseRoute("/ui/servers/50%")).toEqual({ page: "server", id: "50%" });
});

test("a link sets headers for a proxy, and none that the server reads", () => {
  const ofProxy = { "X-Access": "1", "cf-access-client-id": "2" };
  const ofServer = {
    "X-Sandbox-Agent-Env": "{}",
    " x-sandbox-agent-later": "1",
    Authorization: "Bearer x",
    Prefer: "respond-async",
    "Last-Event-ID": "9",
    Range: "bytes=0-0",
    "If-Match": "*",
    "Content-Type": "text/plain",
    accept: "text/html",
  };
  const link = JSON.stringify({ ...ofProxy, ...ofServer });
  expect(headersFromLink(link)).toEqual({ "x-access": "1", "cf-access-client-id": "2" });
  expect(headersFromLink("[1]")).toEqual({});
  expect(headersFromLink(null)).toEqual({});
});
