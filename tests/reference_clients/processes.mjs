// Calls every process and terminal method of the published sandbox-agent SDK. One JSON line.
import { pathToFileURL } from "node:url";

const { PACKAGES, BASE_URL, TOKEN } = process.env;
const { SandboxAgent } = await import(pathToFileURL(`${PACKAGES}/sandbox-agent/dist/index.js`).href);
const sdk = await SandboxAgent.connect({ baseUrl: BASE_URL, token: TOKEN });
const text = (entry) => Buffer.from(entry.data, "base64").toString();
const until = async (condition) => {
  for (let tries = 0; tries < 1500 && !condition(); tries += 1) await new Promise((done) => setTimeout(done, 10));
};

const config = await sdk.getProcessConfig();
const changed = await sdk.setProcessConfig({ ...config, maxConcurrentProcesses: 7 });
const run = await sdk.runProcess({ command: "sh", args: ["-c", "echo out; echo err >&2; exit 3"], timeoutMs: 20000 });

const pipes = await sdk.createProcess({ command: "sh", args: ["-c", "read line; echo got $line; exit 4"] });
const followed = [];
const subscription = await sdk.followProcessLogs(pipes.id, (entry) => followed.push(text(entry)));
const written = await sdk.sendProcessInput(pipes.id, { data: "hello\n", encoding: "utf8" });
await subscription.closed;
const exited = await sdk.getProcess(pipes.id);
const logs = (await sdk.getProcessLogs(pipes.id, { stream: "stdout", tail: 5 })).entries.map(text);
await sdk.deleteProcess(pipes.id);

const shell = await sdk.createProcess({ command: "bash", args: ["--norc"], tty: true, interactive: true });
const size = await sdk.resizeProcessTerminal(shell.id, { cols: 100, rows: 30 });
const terminal = sdk.connectProcessTerminal(shell.id);
const seen = { ready: null, data: "", exit: null, errors: [] };
terminal.onReady((status) => (seen.ready = status.processId));
terminal.onData((data) => (seen.data += Buffer.from(data).toString()));
terminal.onExit((status) => (seen.exit = status.exitCode));
terminal.onError((error) => seen.errors.push(error.message));
await until(() => seen.ready !== null);
terminal.sendInput("stty size\n");
await until(() => seen.data.includes("30 100"));
terminal.resize({ cols: 90, rows: 20 });
terminal.sendInput(new TextEncoder().encode("stty size\n"));
await until(() => seen.data.includes("20 90"));
terminal.sendInput("exit 5\n");
await terminal.closed;

const other = await sdk.createProcess({ command: "cat", tty: true });
const closing = sdk.connectProcessTerminal(other.id);
await new Promise((done) => closing.onReady(done));
closing.close();
await closing.closed;
const socket = sdk.connectProcessTerminalWebSocket(other.id);
const first = await new Promise((done) => (socket.onmessage = (event) => done(JSON.parse(event.data))));
socket.close();
const stillRunning = (await sdk.getProcess(other.id)).status;
const stopped = (await sdk.stopProcess(other.id, { waitMs: 5000 })).status;
const third = await sdk.createProcess({ command: "sleep", args: ["600"] });
const killed = (await sdk.killProcess(third.id, { waitMs: 5000 })).status;
const listed = (await sdk.listProcesses({ owner: "user" })).processes.map((row) => row.id);
let fault = null;
await sdk.getProcess("proc_99").catch((error) => (fault = [error.status, error.problem?.type]));
const url = sdk.buildProcessTerminalWebSocketUrl(other.id, { accessToken: "t" });
await sdk.dispose();
console.log(
  JSON.stringify({
    ...{ config, changed, run, written, followed, exited, logs, size, seen, first, stillRunning, stopped, killed },
    ...{ listed, fault, url },
  }),
);
