/** Life of a session of this browser: created, opened again after a reload, resumed on a fresh process. */

import type { InitializeResponse, NewSessionResponse } from "@agentclientprotocol/sdk";
import type { ServerInfo } from "../api/server";
import type { JsonObject } from "../json";
import { Instance } from "../live/instance";
import { logKey } from "../live/message";
import type { SessionRecord } from "../storage/records";
import { chooseMode, chooseModel } from "./options";
import type { Workbench } from "./workbench";

export interface NewSession {
  agent: string;
  cwd: string;
  model?: string;
  mode?: string;
  mcpServers: JsonObject[];
}

const INITIALIZE = {
  protocolVersion: 1,
  clientInfo: { name: "sandbox-agent-inspector", title: "Sandbox Agent inspector", version: "0.1.0" },
  clientCapabilities: {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    elicitation: { form: {} },
    _meta: { terminal_output: true, "sandboxagent.dev": { questions: true } },
  },
};

export async function createSession(
  workbench: Workbench,
  chosen: NewSession,
  progress: (step: string) => void,
): Promise<SessionRecord> {
  const id = crypto.randomUUID();
  const serverId = `ui-${chosen.agent}-${id.slice(0, 8)}`;
  const instance = new Instance(workbench, serverId, undefined, true);
  try {
    progress(`Starting ${chosen.agent}…`);
    const { log } = await start(workbench, instance, serverId, chosen.agent);
    instance.listen();
    progress("Opening a session…");
    const opened = await instance.request<NewSessionResponse>("session/new", {
      cwd: chosen.cwd,
      mcpServers: chosen.mcpServers,
    });
    if (chosen.mode) await chooseMode(instance, opened.sessionId, opened, chosen.mode);
    if (chosen.model) await chooseModel(instance, opened.sessionId, opened, chosen.model);
    const now = Date.now();
    const record: SessionRecord = {
      ...chosen,
      id,
      serverId,
      origin: workbench.http.origin,
      agentSessionId: opened.sessionId,
      title: "",
      createdAt: now,
      lastActiveAt: now,
      archived: false,
      logs: [log],
    };
    workbench.keep(`session:${id}`, instance);
    await workbench.sessions.put(record);
    return record;
  } catch (error) {
    instance.close();
    await workbench.api.closeServer(serverId).catch(() => undefined);
    throw error;
  }
}

async function start(workbench: Workbench, instance: Instance, serverId: string, agent: string) {
  instance.link.startWith(agent);
  const about = await instance.request<InitializeResponse>("initialize", INITIALIZE);
  const server = (await workbench.servers.refresh()).find((one) => one.serverId === serverId);
  const log = logKey(workbench.http.origin, serverId, server?.createdAtMs ?? 0);
  instance.name(log, true);
  return { about, log };
}

/** The life of the instance that the session knows, if the server still has it. */
export function liveServer(session: SessionRecord, servers: readonly ServerInfo[]): ServerInfo | undefined {
  const server = servers.find((one) => one.serverId === session.serverId);
  return server && logKey(session.origin, server.serverId, server.createdAtMs) === session.logs.at(-1)
    ? server
    : undefined;
}

/** Show a session: its stored history, then the rest of the stream if the server still has the instance. */
export async function openSession(workbench: Workbench, session: SessionRecord): Promise<Instance> {
  const key = `session:${session.id}`;
  const known = workbench.openInstance(key);
  if (known) return known;
  const current = session.logs.at(-1) ?? "";
  const instance = new Instance(workbench, session.serverId, current, true);
  for (const log of session.logs.slice(0, -1)) instance.addHistory(await workbench.history.messages(log));
  const stored = await workbench.history.messages(current);
  const live = session.imported
    ? undefined
    : liveServer(session, await workbench.servers.refresh().catch(() => []));
  if (live) {
    instance.restore(stored);
    instance.listen();
  } else {
    instance.addHistory(stored);
  }
  workbench.keep(key, instance);
  return instance;
}

/** Start a fresh process for a session whose instance ended, and give the agent its session back. */
export async function resumeSession(workbench: Workbench, session: SessionRecord): Promise<void> {
  const listed = (await workbench.servers.refresh()).find((one) => one.serverId === session.serverId);
  // What the ended instance saw last may still be on its way into the history.
  await workbench.openInstance(`session:${session.id}`)?.stored();
  const instance = new Instance(workbench, session.serverId, undefined, true);
  for (const log of session.logs) instance.addHistory(await workbench.history.messages(log));
  // An exited instance that is still listed keeps its events; they are in the history already.
  instance.continueAfter(listed?.lastEventId ?? 0);
  const { about, log } = await start(workbench, instance, session.serverId, session.agent);
  instance.listen();
  const restored = about.agentCapabilities?.loadSession === true && (await load(instance, session));
  const agentSessionId = restored ? session.agentSessionId : (await renew(instance, session)).sessionId;
  const logs = session.logs.includes(log) ? session.logs : [...session.logs, log];
  // Kept first: the changed record makes the view look for the instance.
  workbench.keep(`session:${session.id}`, instance);
  await workbench.sessions.put({
    ...session,
    logs,
    agentSessionId,
    lastActiveAt: Date.now(),
    forgotten: !restored,
  });
}

async function load(instance: Instance, session: SessionRecord): Promise<boolean> {
  const { agentSessionId: sessionId, cwd, mcpServers } = session;
  if (!sessionId) return false;
  try {
    await instance.request("session/load", { sessionId, cwd, mcpServers });
    return true;
  } catch {
    // The agent forgot the session: it gets a new one, and the conversation goes on in the same place.
    return false;
  }
}

function renew(instance: Instance, session: SessionRecord): Promise<NewSessionResponse> {
  return instance.request<NewSessionResponse>("session/new", {
    cwd: session.cwd,
    mcpServers: session.mcpServers,
  });
}

/** Watch any instance of the server. */
export async function attach(workbench: Workbench, serverId: string): Promise<Instance> {
  const key = `server:${serverId}`;
  const known = workbench.openInstance(key);
  if (known) return known;
  const server = (await workbench.servers.refresh()).find((one) => one.serverId === serverId);
  const log = server && logKey(workbench.http.origin, serverId, server.createdAtMs);
  const instance = new Instance(workbench, serverId, log, false);
  if (log) instance.restoreOwn(await workbench.history.messages(log));
  instance.listen();
  workbench.keep(key, instance);
  return instance;
}
