// Drives the published sandbox-agent SDK: SandboxAgent.start() with the local provider, which runs the program
// that SANDBOX_AGENT_BIN names; a session with AGENT, prompts, a permission, events, dispose. One JSON line.
import { pathToFileURL } from "node:url";

const { AGENT, PACKAGES, BASE_URL, TOKEN } = process.env;
const load = (path) => import(pathToFileURL(`${PACKAGES}/sandbox-agent/dist/${path}`).href);
const { SandboxAgent } = await load("index.js");
const { local } = await load("providers/local.js");

const started = performance.now();
const sdk = BASE_URL
  ? await SandboxAgent.connect({ baseUrl: BASE_URL, token: TOKEN })
  : await SandboxAgent.start({ sandbox: local({ log: "silent" }) });
const health = await sdk.getHealth();
const startMs = performance.now() - started;

const session = await sdk.createSession({ agent: AGENT, cwd: process.cwd() });
const seen = [];
const stopListening = session.onEvent((event) => seen.push(event.payload?.params?.update?.sessionUpdate));
let asked = 0;
session.onPermissionRequest((request) => {
  asked += 1;
  void session.respondPermission(request.id, "once");
});
const say = (text) => session.prompt([{ type: "text", text }]);
const stopReasons = [(await say("echo hello")).stopReason, (await say("permission")).stopReason];
const again = await sdk.resumeSession(session.id);
stopReasons.push((await again.prompt([{ type: "text", text: "stream 10" }])).stopReason);
// A prompt may resolve through its POST before the stream has brought the last updates.
const chunks = () => seen.filter((kind) => kind === "agent_message_chunk").length;
for (let tries = 0; tries < 500 && chunks() < 12; tries += 1) await new Promise((done) => setTimeout(done, 10));
stopListening();
const options = await session.getConfigOptions();
const modes = options.filter((option) => option.category === "mode").length;
const events = await sdk.getEvents({ sessionId: session.id, limit: 200 });
const agents = await sdk.listAgents();

const sandboxId = sdk.sandboxId ?? null;
const disposing = performance.now();
await sdk.dispose();
const disposeMs = performance.now() - disposing;
const destroying = performance.now();
if (!BASE_URL) await sdk.destroySandbox();
console.log(
  JSON.stringify({
    health,
    startMs,
    sandboxId,
    agentSessionId: session.agentSessionId,
    stopReasons,
    seen: seen.filter(Boolean),
    asked,
    modes,
    events: events.items.length,
    agents: agents.agents.map((agent) => agent.id),
    disposeMs,
    destroyMs: performance.now() - destroying,
  }),
);
