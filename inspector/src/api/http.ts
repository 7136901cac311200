/**
 * HTTP to one endpoint: adds the token as a header (never to a URL), logs the call for the Requests
 * panel and turns every failure into an ApiProblem.
 */

import { ApiProblem, problemOf } from "./problem";
import type { RequestLog } from "./requestLog";

export interface Endpoint {
  /** Without a trailing slash; empty means the page's own origin. */
  url: string;
  token: string;
  headers: Record<string, string>;
}

export interface CallOptions {
  method?: string;
  query?: Record<string, string | boolean | undefined>;
  headers?: Record<string, string>;
  json?: unknown;
  body?: BodyInit;
  signal?: AbortSignal;
  /** Give up when the head of the response has not arrived after this time. */
  timeoutMs?: number;
  /** Leave out of the request log: polling would push out the calls of the user. */
  quiet?: boolean;
  /** The bodies may have keys: they are not in the request log. */
  secret?: boolean;
}

const NOT_KEPT = "(not kept)";

export class Http {
  constructor(
    readonly endpoint: Endpoint,
    readonly log: RequestLog,
  ) {}

  get origin(): string {
    return this.endpoint.url || window.location.origin;
  }

  address(path: string, query: CallOptions["query"] = {}): string {
    const given = Object.entries(query).filter((pair) => pair[1] !== undefined);
    const text = given.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&");
    return `${this.origin}${path}${text ? `?${text}` : ""}`;
  }

  /** The raw response, whatever its status. The body of a logged response is copied into the log. */
  async send(path: string, options: CallOptions = {}): Promise<Response> {
    const method = options.method ?? "GET";
    const url = this.address(path, options.query);
    const headers: Record<string, string> = { ...this.endpoint.headers, ...options.headers };
    let body = options.body;
    if (options.json !== undefined) {
      headers["content-type"] = "application/json";
      body = JSON.stringify(options.json);
    }
    const shown = typeof body === "string" ? (options.secret ? NOT_KEPT : body) : body && "(binary)";
    const entry = options.quiet
      ? 0
      : this.log.begin({ method, url, headers: loggable(headers), body: shown });
    if (this.endpoint.token) headers.authorization = `Bearer ${this.endpoint.token}`;
    const limit = new AbortController();
    const timer = options.timeoutMs && setTimeout(() => limit.abort(), options.timeoutMs);
    const signal = options.signal ? AbortSignal.any([options.signal, limit.signal]) : limit.signal;
    try {
      const response = await fetch(url, {
        method,
        headers,
        body,
        signal,
        credentials: "omit",
        cache: "no-store",
        referrerPolicy: "no-referrer",
      });
      if (entry) void this.record(entry, response, options.secret);
      return response;
    } catch (error) {
      if (entry) this.log.finish(entry, { error: String(error) });
      if (options.signal?.aborted) throw error;
      throw new ApiProblem("unreachable", 0, "Server not reachable", `No answer from ${this.origin}.`);
    } finally {
      clearTimeout(timer);
    }
  }

  async json<T>(path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.checked(path, options);
    return (await response.json()) as T;
  }

  async checked(path: string, options: CallOptions = {}): Promise<Response> {
    const response = await this.send(path, options);
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  private async record(entry: number, response: Response, secret = false): Promise<void> {
    const type = response.headers.get("content-type") ?? "";
    const seen = { status: response.status, responseType: type };
    this.log.finish(entry, seen);
    if (!type.includes("json") || secret) return;
    const responseBody = await response
      .clone()
      .text()
      .catch(() => undefined);
    if (responseBody) this.log.finish(entry, { ...seen, responseBody });
  }
}

/** Without the variables of an agent, which are keys. The token is added after this. */
function loggable(headers: Record<string, string>): Record<string, string> {
  const { "x-sandbox-agent-env": secret, ...rest } = headers;
  return secret === undefined ? rest : { ...rest, "x-sandbox-agent-env": NOT_KEPT };
}
