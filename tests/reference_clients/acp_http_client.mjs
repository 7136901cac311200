// Drives the published acp-http-client against BASE_URL and prints one JSON line with what it saw.
// PACKAGES is the node_modules directory that holds it; AGENT is the agent to start.
import { pathToFileURL } from "node:url";

const { BASE_URL, TOKEN, AGENT, PACKAGES } = process.env;
const { AcpHttpClient, PROTOCOL_VERSION } = await import(
  pathToFileURL(`${PACKAGES}/acp-http-client/dist/index.js`).href
);

const updates = [];
const permissions = [];
const envelopes = { inbound: 0, outbound: 0 };
const client = new AcpHttpClient({
  baseUrl: BASE_URL,
  token: TOKEN,
  transport: { path: "/v1/acp/node-client", bootstrapQuery: { agent: AGENT } },
  client: {
    sessionUpdate: async ({ update }) => updates.push(update.sessionUpdate),
    requestPermission: async (request) => {
      permissions.push(request.options.map((option) => option.kind));
      const allow = request.options.find((option) => option.kind === "allow_once");
      return { outcome: { outcome: "selected", optionId: allow.optionId } };
    },
  },
  onEnvelope: (_envelope, direction) => (envelopes[direction] += 1),
});

const initialized = await client.initialize({ protocolVersion: PROTOCOL_VERSION });
const session = await client.newSession({ cwd: process.cwd(), mcpServers: [] });
const say = (text) => client.prompt({ sessionId: session.sessionId, prompt: [{ type: "text", text }] });
const echoed = await say("echo hello from node");
const streamed = await say("stream 25");
const permitted = await say("permission");
const parallel = await Promise.all([
  client.listSessions({}).then((answer) => answer.sessions.length),
  client.setSessionMode({ sessionId: session.sessionId, modeId: "plan" }).then(() => "mode set"),
]);

const began = performance.now();
await client.disconnect();
console.log(
  JSON.stringify({
    protocolVersion: initialized.protocolVersion,
    sessionId: session.sessionId,
    stopReasons: [echoed.stopReason, streamed.stopReason, permitted.stopReason],
    updates,
    permissions,
    envelopes,
    parallel,
    disconnectMs: performance.now() - began,
  }),
);
