// The published TypeScript SDK in the same two measurements: one turn of many chunks, and many sessions.
// usage: node typescript.mjs turn|create, with BASE_URL, TOKEN, PACKAGES, DIRECTORY and COUNT. One JSON line.
import { pathToFileURL } from "node:url";

const { PACKAGES, BASE_URL, TOKEN, DIRECTORY } = process.env;
const COUNT = Number(process.env.COUNT);
const { SandboxAgent } = await import(pathToFileURL(`${PACKAGES}/sandbox-agent/dist/index.js`).href);
const sdk = await SandboxAgent.connect({ baseUrl: BASE_URL, token: TOKEN });
const cpu = (since) => {
  const used = process.cpuUsage(since);
  return used.user + used.system;
};
const pause = () => new Promise((done) => setTimeout(done, 5));

async function turn() {
  const session = await sdk.createSession({ agent: "mock", cwd: DIRECTORY });
  let chunks = 0;
  session.onEvent((event) => {
    if (event.payload?.params?.update?.sessionUpdate === "agent_message_chunk") chunks += 1;
  });
  const flood = async (count) => {
    chunks = 0;
    await session.prompt([{ type: "text", text: `flood ${count}` }]);
    // A prompt resolves through its POST, often before the stream has brought the last chunks.
    for (const end = Date.now() + 30_000; chunks < count && Date.now() < end; ) await pause();
  };
  await flood(1000);
  const before = process.cpuUsage();
  await flood(COUNT);
  return { cpu_us: cpu(before) / COUNT, missing: COUNT - chunks };
}

async function create() {
  await sdk.createSession({ agent: "mock", cwd: DIRECTORY });
  const before = process.cpuUsage();
  // One process for all: this SDK has no isolated sessions.
  for (let at = 0; at < COUNT; at += 20)
    await Promise.all(Array.from({ length: 20 }, () => sdk.createSession({ agent: "mock", cwd: DIRECTORY })));
  return { create_ms: cpu(before) / 1000 / COUNT };
}

console.log(JSON.stringify(await (process.argv[2] === "turn" ? turn() : create())));
process.exit(0);
