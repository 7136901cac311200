// One session and two turns with the agent of COMMAND, by the official TypeScript SDK on stdio.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.PACKAGES + "/");
const acp = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")).href);

const [command, ...words] = JSON.parse(process.env.COMMAND);
const agent = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const texts = [];
let asked = 0;

const app = acp
  .client({ name: "test" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const { update } = params;
    if (update.sessionUpdate === "agent_message_chunk") texts.push(update.content.text);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    asked += 1;
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  });

const stopReasons = await app.connectWith(stream, async (ctx) => {
  await ctx.request(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ctx.request(acp.methods.agent.session.new, {
    cwd: process.env.CWD,
    mcpServers: [],
  });
  const reasons = [];
  for (const text of JSON.parse(process.env.PROMPTS)) {
    const prompt = [{ type: "text", text }];
    const answer = await ctx.request(acp.methods.agent.session.prompt, { sessionId, prompt });
    reasons.push(answer.stopReason);
  }
  return reasons;
});
agent.stdin.end();
const code = await new Promise((done) => agent.on("exit", done));
console.log(JSON.stringify({ stopReasons, asked, code, text: texts.join("") }));
