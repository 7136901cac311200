/** Life cycle of a session of this browser: created, opened after a reload, resumed on a fresh process. */

import type {
  InitializeRequest,
  InitializeResponse,
  McpServer,
  NewSessionResponse,
} from "@agentclientprotocol/sdk";
import type { AcpServer } from "../api/bodies";
import { logKey } from "../fold/message";
import { Instance } from "../instance/instance";
import type { AppState } from "../state/appState";
import type { SessionRecord } from "../storage/sessionRecord";
import { chooseOption } from "./options";

export interface NewSession {
  agent: string;
  cwd: string;
  model?: string;
  mode?: string;
  mcpServers: McpServer[];
}

const INITIALIZE: InitializeRequest = {
  protocolVersion: 1,
  clientInfo: { name: "sandbox-agent-inspector", title: "Sandbox Agent inspector", version: __VERSION__ },
  clientCapabilities: {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    elicitation: { form: {} },
    _meta: { terminal_output: true, "sandboxagent.dev": { questions: true } },
  },
};

const INSTALL_LOOK_MS = 1000;

export async function createSession(
  app: AppState,
  chosen: NewSession,
  progress: (step: string) => void,
): Promise<SessionRecord> {
  const id = crypto.randomUUID();
  const serverId = `ui-${chosen.agent}-${id.slice(0, 8)}`;
  const instance = new Instance(app, serverId, undefined, true);
  try {
    progress(`Starting ${chosen.agent}…`);
    const endWatch = watchInstall(app, serverId, chosen.agent, progress);
    const { log } = await start(app, instance, serverId, chosen.agent).finally(endWatch);
    instance.listen();
    progress("Opening a session…");
    const opened = await instance.request<NewSessionResponse>("session/new", {
      cwd: chosen.cwd,
      mcpServers: chosen.mcpServers,
    });
    if (chosen.mode) await chooseOption(instance, opened.sessionId, opened, "mode", chosen.mode);
    if (chosen.model) await chooseOption(instance, opened.sessionId, opened, "model", chosen.model);
    const now = Date.now();
    const record: SessionRecord = {
      ...chosen,
      id,
      serverId,
      origin: app.http.origin,
      agentSessionId: opened.sessionId,
      title: "",
      createdAt: now,
      lastActiveAt: now,
      archived: false,
      logs: [log],
    };
    app.keep(`session:${id}`, instance);
    await app.sessions.put(record);
    return record;
  } catch (error) {
    instance.close();
    await app.api.closeServer(serverId).catch(() => undefined);
    throw error;
  }
}

/** Show how far the install is that the start of an agent waits for; returns what ends the watch. */
function watchInstall(
  app: AppState,
  serverId: string,
  agent: string,
  progress: (step: string) => void,
): () => void {
  const look = async () => {
    const servers = await app.api.servers().catch(() => []);
    const installing = servers.find((one) => one.serverId === serverId)?.installing;
    if (!installing || ended) return;
    const percent = installing.percent == null ? "" : ` ${installing.percent} %`;
    progress(`Installing ${agent}:${percent} ${installing.message}`);
  };
  let ended = false;
  const timer = setInterval(() => void look(), INSTALL_LOOK_MS);
  return () => {
    ended = true;
    clearInterval(timer);
  };
}

async function start(app: AppState, instance: Instance, serverId: string, agent: string) {
  instance.connection.startWith(agent);
  const about = await instance.request<InitializeResponse>("initialize", INITIALIZE);
  const server = (await app.servers.refresh()).find((one) => one.serverId === serverId);
  const log = logKey(app.http.origin, serverId, server?.createdAtMs ?? 0);
  instance.storeUnder(log, true);
  return { about, log };
}

/** The run of the instance that the session knows, if the server still has it. */
export function liveServer(session: SessionRecord, servers: readonly AcpServer[]): AcpServer | undefined {
  const server = servers.find((one) => one.serverId === session.serverId);
  return server && logKey(session.origin, server.serverId, server.createdAtMs) === session.logs.at(-1)
    ? server
    : undefined;
}

/** Show a session: its stored history, then the rest of the stream if the server still has the instance. */
export async function openSession(app: AppState, session: SessionRecord): Promise<Instance> {
  const key = `session:${session.id}`;
  const known = app.openInstance(key);
  if (known) return known;
  const current = session.logs.at(-1) ?? "";
  const instance = new Instance(app, session.serverId, current, true);
  for (const log of session.logs.slice(0, -1)) instance.addHistory(await app.history.messages(log));
  const stored = await app.history.messages(current);
  const live = session.imported
    ? undefined
    : liveServer(session, await app.servers.refresh().catch(() => []));
  if (live) {
    instance.restore(stored);
    instance.listen();
  } else {
    instance.addHistory(stored);
  }
  app.keep(key, instance);
  return instance;
}

/** Start a fresh process for a session whose instance ended, and give the agent its session back. */
export async function resumeSession(app: AppState, session: SessionRecord): Promise<void> {
  const listed = (await app.servers.refresh()).find((one) => one.serverId === session.serverId);
  // The last messages of the ended instance may not be stored yet.
  await app.openInstance(`session:${session.id}`)?.stored();
  const instance = new Instance(app, session.serverId, undefined, true);
  for (const log of session.logs) instance.addHistory(await app.history.messages(log));
  // An exited instance that is still listed replays events that the history already has.
  instance.continueAfter(listed?.lastEventId ?? 0);
  const { about, log } = await start(app, instance, session.serverId, session.agent);
  instance.listen();
  const restored = about.agentCapabilities?.loadSession === true && (await load(instance, session));
  const agentSessionId = restored ? session.agentSessionId : (await renew(instance, session)).sessionId;
  const logs = session.logs.includes(log) ? session.logs : [...session.logs, log];
  // Before the record changes: the view then looks for the instance.
  app.keep(`session:${session.id}`, instance);
  await app.sessions.put({
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
    // The agent lost the session: it gets a new one, and the conversation continues in the same record.
    return false;
  }
}

function renew(instance: Instance, session: SessionRecord): Promise<NewSessionResponse> {
  return instance.request<NewSessionResponse>("session/new", {
    cwd: session.cwd,
    mcpServers: session.mcpServers,
  });
}

/** Watch an instance of the server. */
export async function attach(app: AppState, serverId: string): Promise<Instance> {
  const key = `server:${serverId}`;
  const known = app.openInstance(key);
  if (known) return known;
  const server = (await app.servers.refresh()).find((one) => one.serverId === serverId);
  const log = server && logKey(app.http.origin, serverId, server.createdAtMs);
  const instance = new Instance(app, serverId, log, false);
  if (log) instance.restoreSent(await app.history.messages(log));
  instance.listen();
  app.keep(key, instance);
  return instance;
}
