/** Life cycle of a session of this browser: created, forked, opened after a reload, resumed on a fresh process. */

import type {
  AuthMethod,
  InitializeRequest,
  InitializeResponse,
  McpServer,
  NewSessionResponse,
} from "@agentclientprotocol/sdk";
import type { AcpServer } from "../api/bodies";
import { AUTH_REQUIRED } from "../api/errorCodes";
import { logKey } from "../fold/message";
import { Instance } from "../instance/instance";
import { numberAt } from "../json";
import type { AppState } from "../state/appState";
import type { SessionRecord } from "../storage/sessionRecord";
import { requestWithLogin, type ChooseLogin } from "./login";
import { chooseOption } from "./options";
import { withSkills } from "./skills";
import { watchInstall, type StartProgress } from "./startProgress";

export interface NewSession {
  agent: string;
  cwd: string;
  /** Values of the agent's options, by category: model, mode, thought level. */
  options: Record<string, string>;
  mcpServers: McpServer[];
  /** Where the skills of the directory's config go, below `cwd`; none without it. */
  skills?: string;
  /** Variables for the process; they are sent with its start and kept nowhere. */
  environment: Record<string, string>;
}

const INITIALIZE: InitializeRequest = {
  protocolVersion: 1,
  clientInfo: { name: "sandbox-agent-inspector", title: "Sandbox Agent inspector", version: __VERSION__ },
  clientCapabilities: {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    // Without these an agent must not send notices and compactions.
    session: { compaction: {}, notices: {} },
    elicitation: { form: {}, url: {} },
    _meta: { terminal_output: true, "sandboxagent.dev": { questions: true } },
  },
};

const SERVER_PREFIX = "ui-";
/** Characters of a session's id that are in the id of its instance. */
const ID_CHARS = 8;

/** Whether an instance was started for a session, which another browser may have created. */
export function isServerOf(sessionId: string, serverId: string): boolean {
  const end = `-${sessionId.slice(0, ID_CHARS)}`;
  return sessionId.length >= ID_CHARS && serverId.startsWith(SERVER_PREFIX) && serverId.endsWith(end);
}

/** Create a session. If `signal` aborts, the instance is closed and nothing of the session remains. */
export async function createSession(
  app: AppState,
  chosen: NewSession,
  progress: (step: StartProgress) => void,
  signal: AbortSignal,
  chooseLogin?: ChooseLogin,
): Promise<SessionRecord> {
  return inNewInstance(app, chosen.agent, signal, (instance, id) =>
    open(app, instance, id, chosen, progress, chooseLogin),
  );
}

/** Open a session in an instance of its own; if that fails or is aborted, the instance is closed. */
async function inNewInstance(
  app: AppState,
  agent: string,
  signal: AbortSignal,
  opening: (instance: Instance, id: string) => Promise<SessionRecord>,
): Promise<SessionRecord> {
  const id = crypto.randomUUID();
  const serverId = `${SERVER_PREFIX}${agent}-${id.slice(0, ID_CHARS)}`;
  const instance = new Instance(app, serverId, undefined, true);
  try {
    const session = await orAborted(signal, opening(instance, id));
    signal.throwIfAborted();
    app.open.adopt(session, instance);
    await app.sessions.put(session);
    return session;
  } catch (error) {
    instance.close();
    // A start that is still on its way would create the instance after it was closed.
    instance.connection.abort();
    await app.api.closeServer(serverId).catch(() => undefined);
    throw error;
  }
}

async function open(
  app: AppState,
  instance: Instance,
  id: string,
  { environment, options, ...chosen }: NewSession,
  progress: (step: StartProgress) => void,
  chooseLogin?: ChooseLogin,
): Promise<SessionRecord> {
  const { serverId } = instance;
  progress({ text: `Starting ${chosen.agent}…` });
  const endWatch = watchInstall(app.api, serverId, chosen.agent, progress);
  const { log, logins, server } = await start(app, instance, chosen.agent, environment).finally(endWatch);
  const { cwd, mcpServers } = chosen;
  if (chosen.skills) progress({ text: "Installing skills…" });
  const opened = await withSkills(app.http, { ...chosen, id }, server, async () => {
    progress({ text: "Opening a session…" });
    const params = { cwd, mcpServers };
    const answer = await requestWithLogin<NewSessionResponse>(
      instance,
      "session/new",
      params,
      logins,
      chooseLogin,
    );
    for (const [category, value] of Object.entries(options)) {
      if (value) await chooseOption(instance, answer.sessionId, answer, category, value);
    }
    return answer;
  });
  const now = Date.now();
  return {
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
}

/**
 * Continue a session in two ways: the agent copies it into a process of its own, and this browser copies its
 * history. The original goes on unchanged.
 */
export function forkSession(
  app: AppState,
  original: SessionRecord,
  source: Instance,
): Promise<SessionRecord> {
  return inNewInstance(app, original.agent, new AbortController().signal, async (instance, id) => {
    await source.stored();
    const copied = `fork|${id}`;
    const rows = (await Promise.all(original.logs.map((log) => app.history.messages(log)))).flat();
    const messages = rows.map((row, index) => ({ ...row, log: copied, position: index + 1 }));
    await app.history.addMessages(messages);
    instance.log.addHistory(messages);
    instance.endRun();
    const { log, logins, server } = await start(app, instance, original.agent);
    const { agentSessionId: sessionId, cwd, mcpServers } = original;
    const params = { sessionId, cwd, mcpServers };
    const forked = await withSkills(app.http, { ...original, id }, server, () =>
      requestWithLogin<NewSessionResponse>(instance, "session/fork", params, logins),
    );
    const now = Date.now();
    return {
      ...original,
      id,
      serverId: instance.serverId,
      agentSessionId: forked.sessionId,
      title: `Fork of ${original.title || original.agent}`,
      renamed: true,
      createdAt: now,
      lastActiveAt: now,
      archived: false,
      logs: [copied, log],
    };
  });
}

function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    work.then(resolve, reject);
  });
}

/** What a process says about itself, and the key of its log. */
interface Started {
  loads: boolean;
  log: string;
  server: AcpServer | undefined;
  /** Ways to log in. */
  logins: readonly AuthMethod[];
}

/** Start the process with `initialize`, and read its log up to the answer before anything else is sent. */
async function start(
  app: AppState,
  instance: Instance,
  agent: string,
  environment: Record<string, string> = {},
): Promise<Started> {
  instance.connection.startWith(agent, environment);
  const about = await instance.request<InitializeResponse>("initialize", INITIALIZE);
  const server = (await app.servers.refresh()).find((one) => one.serverId === instance.serverId);
  const log = logKey(app.http.origin, instance.serverId, server?.createdAtMs ?? 0);
  instance.log.storeUnder(log, true);
  instance.stream.listen();
  await instance.stream.catchUp(server?.lastEventId ?? 0);
  const loads = about.agentCapabilities?.loadSession === true;
  return { loads, log, server, logins: about.authMethods ?? [] };
}

/** Another client has started the process again: it is initialized, so the session is only loaded into it. */
async function join(app: AppState, instance: Instance, server: AcpServer): Promise<Started> {
  const log = logKey(app.http.origin, server.serverId, server.createdAtMs);
  instance.log.storeUnder(log, true);
  instance.stream.listen();
  await instance.stream.catchUp(server.lastEventId);
  const { agentCapabilities, authMethods } = instance.snapshot().conversation;
  return { loads: agentCapabilities?.loadSession === true, log, server, logins: authMethods };
}

/** The run of the instance that the session knows, if the server still has it. */
export function liveServer(session: SessionRecord, servers: readonly AcpServer[]): AcpServer | undefined {
  const server = servers.find((one) => one.serverId === session.serverId);
  return server && logKey(session.origin, server.serverId, server.createdAtMs) === session.logs.at(-1)
    ? server
    : undefined;
}

/** The instance of a session with its stored history; its stream is not open yet. */
export async function loadInstance(app: AppState, session: SessionRecord): Promise<Instance> {
  const current = session.logs.at(-1) ?? "";
  const instance = new Instance(app, session.serverId, current, true);
  for (const log of session.logs.slice(0, -1)) {
    instance.log.addHistory(await app.history.messages(log));
    instance.endRun();
  }
  instance.log.restore(await app.history.messages(current));
  return instance;
}

/** Start a fresh process for a session that is over, in the same instance; returns the changed record. */
export async function resumeSession(
  app: AppState,
  session: SessionRecord,
  instance: Instance,
): Promise<SessionRecord> {
  const listed = (await app.servers.refresh()).find((one) => one.serverId === session.serverId);
  // The numbering goes on if the instance is listed, and what the page has not read of it is read first.
  if (listed) await instance.stream.catchUp(listed.lastEventId);
  else instance.log.startNumbering();
  await instance.stored();
  instance.endRun();
  instance.stream.pause();
  const running = listed && listed.status !== "exited";
  const { loads, log, logins, server } = running
    ? await join(app, instance, listed)
    : await start(app, instance, session.agent);
  const { agentSessionId, forgotten } = await withSkills(app.http, session, server, async () =>
    loads && (await load(instance, session, logins))
      ? { agentSessionId: session.agentSessionId, forgotten: false }
      : { agentSessionId: (await renew(instance, session, logins)).sessionId, forgotten: true },
  );
  const logs = session.logs.includes(log) ? session.logs : [...session.logs, log];
  return { ...session, logs, agentSessionId, lastActiveAt: Date.now(), forgotten };
}

async function load(
  instance: Instance,
  session: SessionRecord,
  logins: readonly AuthMethod[],
): Promise<boolean> {
  const { agentSessionId: sessionId, cwd, mcpServers } = session;
  if (!sessionId) return false;
  try {
    await requestWithLogin(instance, "session/load", { sessionId, cwd, mcpServers }, logins);
    return true;
  } catch (error) {
    // Without its login the agent would open no other session either.
    if (numberAt(error, "code") === AUTH_REQUIRED) throw error;
    // The agent lost the session: it gets a new one, and the conversation continues in the same record.
    return false;
  }
}

function renew(
  instance: Instance,
  { cwd, mcpServers }: SessionRecord,
  logins: readonly AuthMethod[],
): Promise<NewSessionResponse> {
  return requestWithLogin(instance, "session/new", { cwd, mcpServers }, logins);
}
