// Every file and config method of the published SDK, unchanged, against the server named by the arguments.
// Prints one JSON object with what it saw; any difference from what it expects ends it with an error.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [, , modules, baseUrl, token, work, archive] = process.argv;
const published = pathToFileURL(`${modules}/node_modules/sandbox-agent/dist/index.js`).href;
const { SandboxAgent, SandboxAgentError } = await import(published);

const sdk = await SandboxAgent.connect({ baseUrl, token });
const seen = {};

async function refused(status, call) {
  try {
    await call();
  } catch (error) {
    assert.ok(error instanceof SandboxAgentError, String(error));
    assert.equal(error.status, status);
    return error.problem.type;
  }
  assert.fail(`expected ${status}`);
}

// files
assert.deepEqual(await sdk.mkdirFs({ path: `${work}/d` }), { path: `${work}/d` });
const written = await sdk.writeFsFile({ path: `${work}/d/a.txt` }, "hello");
assert.deepEqual(written, { path: `${work}/d/a.txt`, bytesWritten: 5 });
await sdk.writeFsFile({ path: `${work}/d/bytes` }, new Uint8Array([0, 255, 10]));
await sdk.writeFsFile({ path: `${work}/d/blob` }, new Blob(["blob"]));
assert.equal(new TextDecoder().decode(await sdk.readFsFile({ path: `${work}/d/a.txt` })), "hello");
assert.deepEqual([...(await sdk.readFsFile({ path: `${work}/d/bytes` }))], [0, 255, 10]);
const entries = await sdk.listFsEntries({ path: `${work}/d` });
assert.deepEqual(entries.map((entry) => entry.name).sort(), ["a.txt", "blob", "bytes"]);
assert.ok(Array.isArray(await sdk.listFsEntries()));
const stat = await sdk.statFs({ path: `${work}/d/a.txt` });
assert.deepEqual([stat.entryType, stat.size], ["file", 5]);
assert.ok(!Number.isNaN(Date.parse(stat.modified)));
const moved = await sdk.moveFs({ from: `${work}/d/a.txt`, to: `${work}/d/b.txt` });
assert.deepEqual(moved, { from: `${work}/d/a.txt`, to: `${work}/d/b.txt` });
await sdk.moveFs({ from: `${work}/d/bytes`, to: `${work}/d/b.txt`, overwrite: true });
const uploaded = await sdk.uploadFsBatch(await readFile(archive), { path: `${work}/up` });
assert.equal(uploaded.truncated, false);
seen.uploaded = uploaded.paths;
assert.deepEqual(await sdk.deleteFsEntry({ path: `${work}/d/b.txt` }), { path: `${work}/d/b.txt` });
seen.notEmpty = await refused(400, () => sdk.deleteFsEntry({ path: `${work}/d` }));
assert.deepEqual(await sdk.deleteFsEntry({ path: `${work}/d`, recursive: true }), { path: `${work}/d` });
seen.missing = await refused(404, () => sdk.readFsFile({ path: `${work}/missing` }));
seen.relative = await refused(400, () => sdk.statFs({ path: "../x" }));

// config
const mcp = { directory: work, mcpName: "server" };
assert.equal(await sdk.setMcpConfig(mcp, { type: "local", command: "npx", args: ["-y", "x"] }), undefined);
assert.deepEqual(await sdk.getMcpConfig(mcp), { type: "local", command: "npx", args: ["-y", "x"] });
await sdk.setMcpConfig(mcp, { type: "remote", url: "https://mcp.example", headers: { a: "b" } });
assert.deepEqual(await sdk.getMcpConfig(mcp), { type: "remote", url: "https://mcp.example", headers: { a: "b" } });
await sdk.deleteMcpConfig(mcp);
await sdk.deleteMcpConfig(mcp);
seen.noEntry = await refused(404, () => sdk.getMcpConfig(mcp));
const skills = { directory: work, skillName: "skill" };
const sources = { sources: [{ type: "github", source: "owner/repository", skills: ["one"], ref: "main" }] };
await sdk.setSkillsConfig(skills, sources);
assert.deepEqual(await sdk.getSkillsConfig(skills), sources);
await sdk.deleteSkillsConfig(skills);
seen.badEntry = await refused(400, () => sdk.setMcpConfig(mcp, { type: "local" }));

await sdk.dispose();
console.log(JSON.stringify(seen));
