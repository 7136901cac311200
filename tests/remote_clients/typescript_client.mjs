// Drives the official TypeScript SDK's HTTP or WebSocket client, unchanged, and prints one JSON line: for each
// exercise "ok", or what went wrong. URL, TRANSPORT (http, ws) and TOKEN say where; PACKAGES is node_modules.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { URL: url, TRANSPORT, TOKEN, PACKAGES, EXERCISES } = process.env;
const { resolve } = createRequire(pathToFileURL(`${PACKAGES}/index.js`));
const load = (name) => import(pathToFileURL(resolve(name)).href);
const sdk = `${PACKAGES}/@agentclientprotocol/sdk/dist`;
const { client, methods } = await load(`${sdk}/v1/stable/acp.js`);
const { createHttpStream } = await load(`${sdk}/transports/http-stream.js`);
const { createWebSocketStream } = await load(`${sdk}/transports/ws-stream.js`);
const { WebSocket } = await load(`${PACKAGES}/ws/wrapper.mjs`);

const LIMIT_MS = Number(process.env.LIMIT_MS ?? 20000);
const headers = TOKEN ? { Authorization: `Bearer ${TOKEN}` } : {};

function openStream() {
  if (TRANSPORT === "ws") return createWebSocketStream(url, { WebSocket, headers });
  return createHttpStream(url, { headers });
}

/** A connected client that records what the agent says, by session. */
class Peer {
  texts = new Map();
  asked = [];

  constructor() {
    const app = client({ name: "matrix" })
      .onNotification(methods.client.session.update, ({ params }) => this.update(params))
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        this.asked.push("permission");
        const allow = params.options.find((option) => option.kind === "allow_once");
        return { outcome: { outcome: "selected", optionId: allow.optionId } };
      })
      .onRequest(methods.client.elicitation.create, () => {
        this.asked.push("elicitation");
        return { action: "decline" };
      });
    this.connection = app.connect(openStream());
    this.agent = this.connection.agent;
  }

  update({ sessionId, update }) {
    if (update.sessionUpdate !== "agent_message_chunk") return;
    this.texts.set(sessionId, (this.texts.get(sessionId) ?? "") + update.content.text);
  }

  text(sessionId) {
    return this.texts.get(sessionId) ?? "";
  }

  async initialize() {
    const capabilities = { elicitation: { form: {} } };
    await this.agent.request(methods.agent.initialize, {
      protocolVersion: 1,
      clientCapabilities: capabilities,
    });
    return this;
  }

  async open() {
    const session = await this.agent.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
    return session.sessionId;
  }

  prompt(sessionId, text) {
    return this.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  }
}

function expect(condition, what) {
  if (!condition) throw new Error(what);
}

async function waitFor(condition, what) {
  const end = Date.now() + LIMIT_MS / 2;
  while (!condition()) {
    expect(Date.now() < end, `no ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

const exercises = {
  async new_and_prompt(peer) {
    const session = await peer.open();
    const { stopReason } = await peer.prompt(session, "echo hello");
    await waitFor(() => peer.text(session) === "hello", `"hello": ${peer.text(session)}`);
    expect(stopReason === "end_turn", stopReason);
  },
  async permission(peer) {
    const session = await peer.open();
    await peer.prompt(session, "permission");
    await waitFor(() => peer.text(session).includes("allow_once"), `outcome: ${peer.text(session)}`);
    expect(peer.asked.length === 1, `asked ${peer.asked.length} times`);
  },
  async load_and_prompt(peer) {
    const session = await peer.open();
    await peer.prompt(session, "echo remember");
    await peer.close();
    const again = await connect();
    try {
      const options = { sessionId: session, cwd: process.cwd(), mcpServers: [] };
      await again.agent.request(methods.agent.session.load, options);
      await waitFor(() => again.text(session).includes("remember"), "replayed message");
      await again.prompt(session, "echo afterwards");
      await waitFor(() => again.text(session).endsWith("afterwards"), `answer: ${again.text(session)}`);
    } finally {
      await again.close();
    }
  },
  async cancel(peer) {
    const session = await peer.open();
    const turn = peer.prompt(session, "hang");
    await peer.agent.notify(methods.agent.session.cancel, { sessionId: session });
    const { stopReason } = await turn;
    expect(stopReason === "cancelled", stopReason);
  },
  async two_sessions(peer) {
    const [one, two] = [await peer.open(), await peer.open()];
    expect(one !== two, "one session twice");
    await Promise.all([peer.prompt(one, "stream 20 5"), peer.prompt(two, "echo second")]);
    await waitFor(() => peer.text(one).includes("chunk 20"), "end of the first");
    await waitFor(() => peer.text(two) === "second", `second: ${peer.text(two)}`);
  },
  async elicitation(peer) {
    const session = await peer.open();
    await peer.prompt(session, "elicit");
    expect(peer.asked.join() === "elicitation", `asked: ${peer.asked}`);
    await waitFor(() => peer.text(session) !== "", "final message");
  },
};

async function connect() {
  const peer = new Peer();
  peer.close = async () => {
    peer.connection.close();
    await peer.connection.closed;
  };
  return peer.initialize();
}

async function attempt(exercise) {
  let peer;
  try {
    peer = await connect();
    await exercise(peer);
    return "ok";
  } catch (error) {
    return String(error?.data?.body ?? error?.message ?? error).slice(0, 300);
  } finally {
    await peer?.close().catch(() => undefined);
  }
}

function limited(work) {
  let timer;
  const late = new Promise((done) => (timer = setTimeout(() => done("no answer in time"), LIMIT_MS)));
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

process.on("unhandledRejection", () => undefined); // of a connection whose failure an exercise reports
const seen = {};
const chosen = EXERCISES ? EXERCISES.split(",") : Object.keys(exercises);
for (const name of chosen) seen[name] = await limited(attempt(exercises[name]));
console.log(JSON.stringify(seen));
process.exit(0);
