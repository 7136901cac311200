// Drives a real agent with the published TypeScript SDK: a text turn, then a tool that is allowed. One JSON line.
import { pathToFileURL } from "node:url";

const { AGENT, PACKAGES, BASE_URL, CWD, TEXT_PROMPT, TOOL_PROMPT } = process.env;
const { SandboxAgent } = await import(pathToFileURL(`${PACKAGES}/sandbox-agent/dist/index.js`).href);

const sdk = await SandboxAgent.connect({ baseUrl: BASE_URL });
const session = await sdk.createSession({ agent: AGENT, cwd: CWD });
let text = "";
const kinds = new Set();
session.onEvent((event) => {
  const update = event.payload?.params?.update;
  if (update) kinds.add(update.sessionUpdate);
  if (update?.sessionUpdate === "agent_message_chunk") text += update.content.text ?? "";
});
let asked = 0;
session.onPermissionRequest((request) => {
  asked += 1;
  void session.respondPermission(request.id, "once");
});
const stopReasons = [];
for (const prompt of [TEXT_PROMPT, TOOL_PROMPT]) {
  stopReasons.push((await session.prompt([{ type: "text", text: prompt }])).stopReason);
}
// A prompt may resolve through its POST before the stream has brought the last updates.
for (let tries = 0; tries < 500 && !text.includes("The tool said"); tries += 1) {
  await new Promise((done) => setTimeout(done, 10));
}
await sdk.destroySession(session.id);
await sdk.dispose();
console.log(JSON.stringify({ stopReasons, text, asked, kinds: [...kinds] }));
