"""Get the schema of each agent from its command, its running server, or the declarations of its SDK.

Every function returns the definitions by name. `folder` holds the npm packages of the agents and
`ts-json-schema-generator`; `fetch_packages` fills it. No function calls a model.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Definitions = dict[str, dict[str, Any]]
_GENERATOR = "ts-json-schema-generator@2.4.0"
PACKAGES = {
    "codex": ("@openai/codex@0.166.0",),
    "opencode": ("opencode-ai@1.18.33",),
    "claude": ("@anthropic-ai/claude-agent-sdk@0.3.312", _GENERATOR),
    "amp": ("@sourcegraph/amp-sdk@0.1.0-20260126121723-gc94da34", _GENERATOR),
}
_CLAUDE_TYPES = ("SDKMessage", "SDKControlPermissionRequest", "SDKControlInitializeResponse")
_SHORT_RETRIES = ("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=3000")
"""Without a network npm would wait 70 s before it gives up, for each agent."""
_START_LIMIT_S, _COMMAND_LIMIT_S = 60.0, 600.0


class ExtractionFailed(Exception):
    """A package or a program that is needed is not there or failed; the text is one line."""


def fetch_packages(agent: str, folder: Path, *, newest: bool) -> None:
    """Install the packages of one agent, unless the folder has them; raises `ExtractionFailed`."""
    missing = [
        package
        for package in PACKAGES[agent]
        if not (folder / "node_modules" / package.rpartition("@")[0]).exists()
    ]
    # A program that a user has put there by hand needs no package.
    if not missing or (folder / "node_modules/.bin" / agent).exists():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise ExtractionFailed("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "package.json").exists():
        (folder / "package.json").write_text('{"private": true}')
    wanted = [package.rpartition("@")[0] for package in missing] if newest else missing
    _run([npm, "install", "--no-audit", "--no-fund", *_SHORT_RETRIES, *wanted], cwd=folder)


def codex(folder: Path) -> Definitions:
    """`codex app-server generate-json-schema`; types of its v2 take precedence."""
    out = folder / "codex-schemas"
    command = [folder / "node_modules/.bin/codex", "app-server", "generate-json-schema", "--out", out]
    _run(command, env=os.environ | {"HOME": str(folder)})
    document = json.loads((out / "codex_app_server_protocol.schemas.json").read_text())
    found: Definitions = document["definitions"]
    for version in ("v1", "v2"):
        found |= found.pop(version, {})
    return found


def opencode(folder: Path) -> Definitions:
    """The OpenAPI document of a running `opencode serve`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = folder / "node_modules/opencode-ai/bin/opencode.exe"
    env = os.environ | {"HOME": str(folder), "OPENCODE_SERVER_PASSWORD": "extract", **_QUIET_OPENCODE}
    server = subprocess.Popen(  # noqa: S603 - a program installed above
        [program, "serve", "--hostname", "127.0.0.1", "--port", str(port)],
        env=env,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        found: Definitions = _get(f"http://127.0.0.1:{port}/doc")["components"]["schemas"]
        return found
    finally:
        server.kill()
        server.wait()


def claude(folder: Path) -> Definitions:
    """The declarations of the Claude Agent SDK."""
    declarations = "node_modules/@anthropic-ai/claude-agent-sdk/sdk.d.ts"
    found: Definitions = {}
    for name in _CLAUDE_TYPES:
        found |= _declared(folder, declarations, name)
    return found


def amp(folder: Path) -> Definitions:
    """The declarations of Amp's SDK."""
    return _declared(folder, "node_modules/@sourcegraph/amp-sdk/dist/types.d.ts", "StreamMessage")


EXTRACTORS = {"codex": codex, "opencode": opencode, "claude": claude, "amp": amp}
_QUIET_OPENCODE = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _declared(folder: Path, file: str, name: str) -> Definitions:
    options = {"module": "nodenext", "moduleResolution": "nodenext", "skipLibCheck": True, "types": []}
    config = folder / "tsconfig.json"
    config.write_text(json.dumps({"compilerOptions": options, "files": [file]}))
    tool = folder / "node_modules/.bin/ts-json-schema-generator"
    command = [tool, "--tsconfig", config, "--path", file, "--type", name]
    command += ["--no-type-check", "--expose", "all", "--additional-properties"]
    found: Definitions = json.loads(_run(command, cwd=folder))["definitions"]
    return found


def _run(command: Sequence[str | Path], **options: Any) -> bytes:
    """The output of a command; raises `ExtractionFailed` with the last line of its error output."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603 - npm, and programs it installed
            command, capture_output=True, timeout=_COMMAND_LIMIT_S, **options
        )
    except subprocess.TimeoutExpired:
        raise ExtractionFailed(f"{name} did not end within {_COMMAND_LIMIT_S:.0f} s") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.decode(errors="replace").splitlines() if _is_reason(line)]
        raise ExtractionFailed(f"{name}: {lines[0].strip() if lines else f'exit code {done.returncode}'}")
    output: bytes = done.stdout
    return output


def _is_reason(line: str) -> bool:
    """npm's first lines name the error; the others point to its log."""
    return bool(line.strip()) and not line.startswith("npm warn")


def _get(url: str) -> Any:
    credentials = base64.b64encode(b"opencode:extract").decode()
    headers = {"authorization": f"Basic {credentials}"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - loopback, made above
    deadline = time.monotonic() + _START_LIMIT_S
    while True:
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - as above
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
