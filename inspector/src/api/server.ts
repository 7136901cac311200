/** The server's endpoints as typed functions. */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { isObject, numberAt, parseJson } from "../json";
import type {
  AcpServer,
  AcpServers,
  AgentInfo,
  AgentList,
  ConfigEntry,
  ConfigKind,
  FsEntry,
  FsStat,
  InstallResult,
} from "./bodies";
import type { Http } from "./http";
import { problemOf, type ApiProblem } from "./problem";

/** A poll that a black hole swallows must fail in time to be told. */
const POLL_LIMIT_MS = 10_000;

export function acpPath(serverId: string): string {
  return `/v1/acp/${encodeURIComponent(serverId)}`;
}

export interface InstallStep {
  text: string;
  /** Absent while the size is not known. */
  percent?: number;
}

export class ServerApi {
  constructor(readonly http: Http) {}

  async health(): Promise<void> {
    await this.http.json("/v1/health");
  }

  async servers(): Promise<AcpServer[]> {
    return (await this.http.json<AcpServers>("/v1/acp", { quiet: true, timeoutMs: POLL_LIMIT_MS })).servers;
  }

  async closeServer(serverId: string): Promise<void> {
    await this.http.checked(acpPath(serverId), { method: "DELETE" });
  }

  /** Why an exited instance ended. A POST to it is refused with the facts and reaches no process. */
  async exitProblem(serverId: string): Promise<ApiProblem | undefined> {
    const json = { jsonrpc: "2.0", method: "$/inspector/exit_facts" };
    const response = await this.http.send(acpPath(serverId), { method: "POST", json, quiet: true });
    return response.status === 502 ? problemOf(response) : undefined;
  }

  async agents(config = false): Promise<AgentInfo[]> {
    const query = config ? { config } : {};
    return (await this.http.json<AgentList>("/v1/agents", { query })).agents;
  }

  agent(id: string): Promise<AgentInfo> {
    return this.http.json(`/v1/agents/${encodeURIComponent(id)}`, { query: { config: true } });
  }

  /** Install an agent; `progress` gets each step of it. */
  async install(
    id: string,
    reinstall: boolean,
    progress: (step: InstallStep) => void,
  ): Promise<InstallResult> {
    const response = await this.http.checked(`/v1/agents/${encodeURIComponent(id)}/install`, {
      method: "POST",
      json: { reinstall },
      headers: { accept: "text/event-stream, application/json" },
    });
    if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) {
      return (await response.json()) as InstallResult;
    }
    let outcome: EventSourceMessage | undefined;
    const parser = createParser({
      onEvent: (event) => {
        if (event.event === "progress") progress(installStep(event.data));
        else if (event.event === "result" || event.event === "error") outcome = event;
      },
    });
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) parser.feed(chunk);
    if (outcome?.event === "result") return JSON.parse(outcome.data) as InstallResult;
    throw await problemOf(
      new Response(outcome?.data ?? "The install ended without a result.", { status: 500 }),
    );
  }

  async homeDirectory(): Promise<string> {
    const home = await this.http.json<FsStat>("/v1/fs/stat", { query: { path: "." }, quiet: true });
    return home.path.replace(/\/\.?$/, "") || "/";
  }

  /** Rejects with the status 404 if there is nothing at this path. */
  stat(path: string): Promise<FsStat> {
    return this.http.json("/v1/fs/stat", { query: { path }, quiet: true });
  }

  async move(from: string, to: string): Promise<void> {
    await this.http.checked("/v1/fs/move", { method: "POST", json: { from, to } });
  }

  entries(path: string, quiet = false): Promise<FsEntry[]> {
    return this.http.json("/v1/fs/entries", { query: { path }, quiet });
  }

  async readFile(path: string): Promise<Blob> {
    return (await this.http.checked("/v1/fs/file", { query: { path } })).blob();
  }

  /** The first bytes of a file, its whole size and its version. */
  async readPart(path: string, limit: number): Promise<{ blob: Blob; size: number; etag: string }> {
    const headers = { range: `bytes=0-${limit - 1}` };
    const response = await this.http.send("/v1/fs/file", { query: { path }, headers });
    const etag = response.headers.get("etag") ?? "";
    // An empty file has no byte to send.
    if (response.status === 416) return { blob: new Blob(), size: 0, etag };
    if (!response.ok) throw await problemOf(response);
    const blob = await response.blob();
    const total = Number(response.headers.get("content-range")?.split("/")[1]);
    return { blob, size: Number.isNaN(total) ? blob.size : total, etag };
  }

  /** A directory as a tar archive. */
  async downloadDirectory(path: string): Promise<Blob> {
    return (await this.http.checked("/v1/fs/download", { query: { path } })).blob();
  }

  /** With an ETag only that version is overwritten: a newer one is the status 412. */
  async writeFile(path: string, body: BodyInit, etag?: string): Promise<void> {
    const headers: Record<string, string> = { "content-type": "application/octet-stream" };
    if (etag) headers["if-match"] = etag;
    await this.http.checked("/v1/fs/file", { method: "PUT", query: { path }, body, headers });
  }

  async deleteEntry(path: string, recursive: boolean): Promise<void> {
    await this.http.checked("/v1/fs/entry", { method: "DELETE", query: { path, recursive } });
  }

  async makeDirectory(path: string): Promise<void> {
    await this.http.checked("/v1/fs/mkdir", { method: "POST", query: { path } });
  }

  async configEntries<K extends ConfigKind>(
    kind: K,
    directory: string,
  ): Promise<Record<string, ConfigEntry[K]>> {
    const found = await this.http.json<{ entries: Record<string, ConfigEntry[K]> }>(
      `/v1/config/${kind}/entries`,
      {
        query: { directory },
        secret: kind === "mcp",
      },
    );
    return found.entries;
  }

  async putConfig<K extends ConfigKind>(
    kind: K,
    directory: string,
    name: string,
    entry: ConfigEntry[K],
  ): Promise<void> {
    const query = { directory, [nameParameter(kind)]: name };
    await this.http.checked(`/v1/config/${kind}`, {
      method: "PUT",
      query,
      json: entry,
      secret: kind === "mcp",
    });
  }

  async deleteConfig(kind: ConfigKind, directory: string, name: string): Promise<void> {
    const query = { directory, [nameParameter(kind)]: name };
    await this.http.checked(`/v1/config/${kind}`, { method: "DELETE", query });
  }
}

function nameParameter(kind: ConfigKind): string {
  return kind === "mcp" ? "mcpName" : "skillName";
}

function installStep(data: string): InstallStep {
  const parsed = parseJson(data);
  if (!isObject(parsed)) return { text: typeof parsed === "string" ? parsed : data };
  const text = parsed.message ?? parsed.detail ?? parsed.line ?? parsed.step ?? parsed.phase;
  const percent = numberAt(parsed, "percent");
  return { text: typeof text === "string" ? text : data, ...(percent === undefined ? {} : { percent }) };
}
