/**
 * The official ACP client connection over this server's HTTP: every message it writes is one POST, and
 * the answers come back either as the POST's body or on the event stream, whichever is first.
 *
 * Ids get a prefix of their own, because several tabs and clients may share one server instance.
 */

import { client, RequestError, type AnyMessage, type ClientContext } from "@agentclientprotocol/sdk";
import { isObject, type Json, type JsonObject } from "../json";
import type { Http } from "./http";
import { ApiProblem, problemOf } from "./problem";

export interface PostOptions {
  agent?: string;
  /** Answer on the stream only: a turn may last for hours and a browser has few connections. */
  async?: boolean;
}

export interface LinkListener {
  sent(message: JsonObject): void;
  refused(message: JsonObject, problem: ApiProblem): void;
}

const PROBLEM_CODE = -32099;

export class AcpLink {
  readonly agent: ClientContext;
  private readonly prefix = `ui-${crypto.randomUUID().slice(0, 8)}-`;
  private readonly waiting = new Map<string, { id: Json }>();
  private incoming!: ReadableStreamDefaultController<AnyMessage>;
  private bootstrap: string | undefined;

  constructor(
    private readonly http: Http,
    private readonly path: string,
    private readonly listener: LinkListener,
  ) {
    const readable = new ReadableStream<AnyMessage>({
      start: (controller) => void (this.incoming = controller),
    });
    const writable = new WritableStream<AnyMessage>({
      // Not awaited: POSTs run side by side, only their order of departure counts.
      write: (message) => void this.depart(message as unknown as JsonObject),
    });
    this.agent = client({ name: "sandbox-agent-inspector" }).connect({ readable, writable }).agent;
  }

  /** Whether a request of this tab is unanswered. */
  get isWaiting(): boolean {
    return this.waiting.size > 0;
  }

  /** The next request starts the instance with this agent, or restarts an exited one. */
  startWith(agent: string): void {
    this.bootstrap = agent;
  }

  async request<T>(method: string, params: unknown): Promise<T> {
    try {
      return await this.agent.request<T>(method, params);
    } catch (error) {
      throw error instanceof RequestError && error.code === PROBLEM_CODE ? this.problemIn(error) : error;
    }
  }

  /** Offer a message of the agent; true if it answered a request of this link. */
  deliver(message: Json): boolean {
    if (!isObject(message) || "method" in message || typeof message.id !== "string") return false;
    const call = this.waiting.get(message.id);
    if (!call) return false;
    this.waiting.delete(message.id);
    this.incoming.enqueue({ ...message, id: call.id } as unknown as AnyMessage);
    return true;
  }

  async post(message: JsonObject, options: PostOptions = {}): Promise<void> {
    const headers: Record<string, string> = { accept: "application/json" };
    if (options.async) headers.prefer = "respond-async";
    const response = await this.http.send(this.path, {
      method: "POST",
      query: { agent: options.agent },
      headers,
      json: message,
    });
    if (!response.ok) throw await problemOf(response);
    if (response.status === 200) this.deliver((await response.json()) as Json);
  }

  private async depart(original: JsonObject): Promise<void> {
    const message = this.renumbered(original);
    const agent = this.bootstrap;
    this.bootstrap = undefined;
    this.listener.sent(message);
    try {
      await this.post(message, { agent, async: message.method === "session/prompt" });
    } catch (error) {
      const problem =
        error instanceof ApiProblem ? error : new ApiProblem("unreachable", 0, "Error", String(error));
      this.listener.refused(message, problem);
      if (typeof message.id === "string") this.fail(message.id, problem);
    }
  }

  private renumbered(message: JsonObject): JsonObject {
    if (!("method" in message) || message.id === undefined) return message;
    const id = `${this.prefix}${String(message.id)}`;
    this.waiting.set(id, { id: message.id });
    return { ...message, id };
  }

  private fail(id: string, problem: ApiProblem): void {
    this.problems.set(id, problem);
    this.deliver({
      jsonrpc: "2.0",
      id,
      error: { code: PROBLEM_CODE, message: problem.message, data: { id } },
    });
  }

  private readonly problems = new Map<string, ApiProblem>();

  private problemIn(error: RequestError): unknown {
    const id = isObject(error.data) ? String(error.data.id) : "";
    const problem = this.problems.get(id);
    this.problems.delete(id);
    return problem ?? error;
  }
}
