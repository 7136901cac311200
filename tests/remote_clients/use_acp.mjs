// Drives use-acp, on which marimo is built, and prints one JSON line. It sends its messages as binary frames.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { PACKAGES, URL: wsUrl } = process.env;
const require = createRequire(`${PACKAGES}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Window } = await load("happy-dom");
const window = new Window({ url: "http://localhost/" });
Object.assign(globalThis, { window, document: window.document, navigator: window.navigator });
globalThis.WebSocket = require("ws");
const { createElement } = require("react");
const { createRoot } = require("react-dom/client");
const { useAcpClient } = await import(pathToFileURL(`${PACKAGES}/use-acp/dist/index.js`).href);
console.log = () => {}; // the package logs what it does

let client;
const App = () => ((client = useAcpClient({ wsUrl, reconnectAttempts: 0 })), null);
createRoot(window.document.createElement("div")).render(createElement(App));

const until = async (condition, what) => {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 1500) throw new Error(`not in time: ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
};
await until(() => client?.agent, "the connection");
let initialized;
client.agent.initialize({ protocolVersion: 1, clientCapabilities: {} }).then((result) => (initialized = result));
await until(() => initialized, "initialize");
const { sessionId } = await client.agent.newSession({ cwd: process.cwd(), mcpServers: [] });
const turn = client.agent.prompt({ sessionId, prompt: [{ type: "text", text: "permission" }] });
await until(() => client.pendingPermission, "the permission");
const [{ optionId }] = client.pendingPermission.options;
client.resolvePermission({ outcome: { outcome: "selected", optionId } });
const { stopReason } = await turn;
const shown = () => JSON.stringify(client.notifications);
await until(() => shown().includes("Permission outcome: selected"), "the outcome");
client.disconnect();
await until(() => client.connectionState.status === "disconnected", "the end");
process.stdout.write(`${JSON.stringify({ version: initialized.protocolVersion, stopReason })}\n`, () => process.exit(0));
