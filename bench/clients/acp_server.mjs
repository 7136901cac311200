// The TypeScript SDK's own server in front of a stdio agent, on a free loopback port, which it prints. AGENT is
// the agent's command as a JSON array; PACKAGES is node_modules.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const { AGENT, PACKAGES } = process.env;
const sdk = `${PACKAGES}/@agentclientprotocol/sdk/dist`;
const load = (path) => import(pathToFileURL(path).href);
const { ndJsonStream } = await load(`${sdk}/v1/stable/acp.js`);
const { AcpServer } = await load(`${sdk}/transports/server.js`);
const { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } = await load(`${sdk}/transports/node-adapter.js`);
const { WebSocketServer } = createRequire(pathToFileURL(`${PACKAGES}/index.js`))("ws");
const [command, ...argumentsOfAgent] = JSON.parse(AGENT);

/** Joins a connection of the server to a process. */
const agent = {
  connect(stream) {
    const process = spawn(command, argumentsOfAgent, { stdio: ["pipe", "pipe", "inherit"] });
    const pipes = ndJsonStream(Writable.toWeb(process.stdin), Readable.toWeb(process.stdout));
    const ended = Promise.allSettled([
      stream.readable.pipeTo(pipes.writable),
      pipes.readable.pipeTo(stream.writable),
    ]);
    void ended.then(() => process.kill());
    process.stdin.on("error", () => undefined);
    return { closed: new Promise((done) => process.on("exit", done)) };
  },
};

const server = new AcpServer({ agent });
const http = createServer(createNodeHttpHandler(server));
http.on("upgrade", createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
process.stdin.resume().on("end", () => process.exit(0)); // ends with the program that started it
