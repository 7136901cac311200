"""A minimal ACP agent as an npm package or a wheel, built by the test, so that installs need no network.

It answers `initialize` and `session/new` only. Its install script and its start can be made to fail.
"""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

_JAVASCRIPT = """\
#!/usr/bin/env node
%s
const answers = {
  initialize: { protocolVersion: 1, agentCapabilities: {} },
  "session/new": {
    sessionId: "s1",
    modes: { currentModeId: "careful", availableModes: [
      { id: "careful", name: "Careful", description: "Slow" }] },
    configOptions: [
      { id: "m", name: "Model", category: "model", type: "select", currentValue: "tiny-2",
        options: [{ group: "g", name: "Group", options: [{ value: "tiny-1", name: "Tiny 1" },
                                                        { value: "tiny-2", name: "Tiny 2" }] }] },
    ],
  },
};
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method] ?? {} }));
});
"""

_PYTHON = """\
import json, sys
def main():
    for line in sys.stdin:
        message = json.loads(line)
        result = {"protocolVersion": 1, "agentCapabilities": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def npm_package(
    directory: Path,
    name: str = "tiny-agent",
    *,
    version: str = "1.2.3",
    at_start: str = "",
    scripts: dict[str, str] | None = None,
) -> Path:
    """A tarball that npm installs; `at_start` is JavaScript run first, `scripts` those of package.json."""
    manifest = {
        "name": name,
        "version": version,
        "bin": {name: "agent.js"},
        "scripts": scripts or {},
    }
    files = {"package/package.json": json.dumps(manifest), "package/agent.js": _JAVASCRIPT % at_start}
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for member, text in files.items():
            info = tarfile.TarInfo(member)
            info.size, info.mode = len(text.encode()), 0o755
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


def wheel(directory: Path, name: str = "tiny_agent", version: str = "1.2.3") -> Path:
    """A wheel whose console script `tiny-agent` is the agent."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": _PYTHON,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\ntiny-agent = {name}:main\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
        record = "".join(f"{member},,\n" for member in [*files, f"{info}/RECORD"])
        archive.writestr(f"{info}/RECORD", record)
    return path


def npm_agent(
    package: Path, agent_id: str = "tiny", *, check: str = "node_modules/tiny-agent/agent.js", **keys: str
) -> str:
    """An agents file with this package; `keys` are further TOML keys of the agent."""
    extra = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return f"""
[[agent]]
id = "{agent_id}"
command = "{{node}}"
args = ["{{root}}/node_modules/tiny-agent/agent.js"]
node = 18
{extra}
[[agent.install]]
npm = ["{package}"]
check = ["{check}"]
"""
