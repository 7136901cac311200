/**
 * The client connection of the official ACP SDK over this server's HTTP: every message it writes is one POST;
 * an answer arrives as the body of the POST or on the event stream, and the first of the two counts.
 *
 * Request ids get a prefix per tab, because several tabs and clients may share one server instance. The SDK
 * with its schemas has 36 KB gzip, so it is loaded with the first request.
 */

import type { AnyMessage, ClientContext } from "@agentclientprotocol/sdk";
import { isObject, numberAt, objectAt, plainText, textAt, type Json, type JsonObject } from "../json";
import { SERVER_PROBLEM } from "./errorCodes";
import type { Http } from "./http";
import { ApiProblem, problemOf } from "./problem";

export interface PostOptions {
  agent?: string;
  /** Answer on the stream only: a turn may last for hours and a browser has few connections. */
  async?: boolean;
  /** JSON object of variables for the process that this message starts. */
  environment?: string;
}

export interface ConnectionListener {
  sent(message: JsonObject): void;
  /** Returns whether the request fails now; one that may have arrived is decided later, by `fail`. */
  refused(message: JsonObject, problem: ApiProblem): boolean;
}

export class AcpConnection {
  private context: Promise<ClientContext> | undefined;
  private readonly idPrefix = `ui-${crypto.randomUUID().slice(0, 8)}-`;
  /** The SDK's ids of requests without an answer, by the id that was sent. */
  private readonly pendingIds = new Map<string, Json>();
  private readonly problems = new Map<string, ApiProblem>();
  private readonly leaving = new AbortController();
  private incoming: ReadableStreamDefaultController<AnyMessage> | undefined;
  private agentToStart: string | undefined;
  /** Environment variables for the process that the next request starts. */
  private environment: Record<string, string> = {};

  constructor(
    private readonly http: Http,
    private readonly path: string,
    private readonly listener: ConnectionListener,
  ) {}

  /** Whether a request of this tab is unanswered. */
  get hasPendingRequests(): boolean {
    return this.pendingIds.size > 0;
  }

  /** The next request starts the instance with this agent, or restarts an exited one. */
  startWith(agent: string, environment: Record<string, string> = {}): void {
    this.agentToStart = agent;
    this.environment = environment;
  }

  async request<T>(method: string, params: unknown): Promise<T> {
    this.context ??= this.connect();
    const context = await this.context;
    try {
      return await context.request<T>(method, params);
    } catch (error) {
      throw this.problemBehind(error) ?? error;
    }
  }

  /** Break off what is being sent: the instance is not wanted any more. */
  abort(): void {
    this.leaving.abort();
  }

  /** Hand a message of the agent to the SDK if it answers a request of this connection. */
  deliver(message: Json): void {
    if (!isObject(message) || "method" in message || typeof message.id !== "string") return;
    const id = this.pendingIds.get(message.id);
    if (id === undefined) return;
    this.pendingIds.delete(message.id);
    this.incoming?.enqueue({ ...message, id } as unknown as AnyMessage);
  }

  async post(message: JsonObject, options: PostOptions = {}): Promise<void> {
    const headers: Record<string, string> = { accept: "application/json" };
    if (options.async) headers.prefer = "respond-async";
    if (options.environment) headers["x-sandbox-agent-env"] = options.environment;
    const response = await this.http.send(this.path, {
      method: "POST",
      query: { agent: options.agent },
      headers,
      json: message,
      signal: this.leaving.signal,
    });
    if (!response.ok) throw await problemOf(response);
    if (response.status === 200) this.deliver((await response.json()) as Json);
    // A body that is not read makes the browser report the call as cancelled.
    else await response.arrayBuffer();
  }

  private async connect(): Promise<ClientContext> {
    const { client } = await import("@agentclientprotocol/sdk");
    const readable = new ReadableStream<AnyMessage>({
      start: (controller) => void (this.incoming = controller),
    });
    const writable = new WritableStream<AnyMessage>({
      // Not awaited: POSTs run in parallel, only the order in which they start counts.
      write: (message) => void this.send(message as unknown as JsonObject),
    });
    return client({ name: "sandbox-agent-inspector" }).connect({ readable, writable }).agent;
  }

  private async send(original: JsonObject): Promise<void> {
    const message = this.withPrefixedId(original);
    const agent = this.agentToStart;
    const given = agent === undefined ? {} : this.environment;
    const environment = Object.keys(given).length > 0 ? JSON.stringify(given) : undefined;
    this.agentToStart = undefined;
    this.listener.sent(message);
    try {
      await this.post(message, { agent, environment, async: message.method === "session/prompt" });
    } catch (error) {
      const problem =
        error instanceof ApiProblem ? error : new ApiProblem("unreachable", 0, "Error", String(error));
      const fails = this.listener.refused(message, problem);
      if (fails && typeof message.id === "string") this.fail(message.id, problem);
    }
  }

  private withPrefixedId(message: JsonObject): JsonObject {
    if (!("method" in message) || message.id === undefined) return message;
    const id = `${this.idPrefix}${plainText(message.id)}`;
    this.pendingIds.set(id, message.id);
    return { ...message, id };
  }

  /** Every request without an answer fails: the process that had it is gone. */
  failAll(problem: ApiProblem): void {
    for (const id of this.pendingIds.keys()) this.fail(id, problem);
  }

  fail(id: string, problem: ApiProblem): void {
    if (!this.pendingIds.has(id)) return;
    this.problems.set(id, problem);
    this.deliver({
      jsonrpc: "2.0",
      id,
      error: { code: SERVER_PROBLEM, message: problem.message, data: { id } },
    });
  }

  private problemBehind(error: unknown): ApiProblem | undefined {
    if (numberAt(error, "code") !== SERVER_PROBLEM) return undefined;
    const id = textAt(objectAt(error, "data"), "id") ?? "";
    const problem = this.problems.get(id);
    this.problems.delete(id);
    return problem;
  }
}
