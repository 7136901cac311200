/** The server's endpoints as typed functions. */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { isObject, parseJson } from "../json";
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

export function acpPath(serverId: string): string {
  return `/v1/acp/${encodeURIComponent(serverId)}`;
}

export class ServerApi {
  constructor(readonly http: Http) {}

  async health(): Promise<void> {
    await this.http.json("/v1/health");
  }

  async servers(): Promise<AcpServer[]> {
    return (await this.http.json<AcpServers>("/v1/acp", { quiet: true })).servers;
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

  /** Install an agent; `progress` gets one line of text per step. */
  async install(id: string, reinstall: boolean, progress: (line: string) => void): Promise<InstallResult> {
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
        if (event.event === "progress") progress(progressText(event.data));
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

  entries(path: string): Promise<FsEntry[]> {
    return this.http.json("/v1/fs/entries", { query: { path } });
  }

  async readFile(path: string): Promise<Blob> {
    return (await this.http.checked("/v1/fs/file", { query: { path } })).blob();
  }

  async writeFile(path: string, body: BodyInit): Promise<void> {
    const headers = { "content-type": "application/octet-stream" };
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
    await this.http.checked(`/v1/config/${kind}`, { method: "PUT", query, json: entry });
  }

  async deleteConfig(kind: ConfigKind, directory: string, name: string): Promise<void> {
    const query = { directory, [nameParameter(kind)]: name };
    await this.http.checked(`/v1/config/${kind}`, { method: "DELETE", query });
  }
}

function nameParameter(kind: ConfigKind): string {
  return kind === "mcp" ? "mcpName" : "skillName";
}

function progressText(data: string): string {
  const parsed = parseJson(data);
  if (typeof parsed === "string") return parsed;
  if (!isObject(parsed)) return data;
  const text = parsed.message ?? parsed.detail ?? parsed.line ?? parsed.step ?? parsed.phase;
  return typeof text === "string" ? text : data;
}
