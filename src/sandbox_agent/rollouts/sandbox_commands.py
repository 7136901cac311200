"""Commands in the sandbox of a rollout: before the first prompt, and after the last one for grading."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.client.client import AsyncSandboxAgent

TAIL_CHARS = 4000
MAX_OUTPUT_BYTES = 1024 * 1024
# The exit code of `timeout` for a command that took too long.
TIMED_OUT = 124
# Shells add the number of the signal; here it is one of many.
KILLED = 128


@dataclass(frozen=True, slots=True)
class CommandResult:
    exit_code: int
    output: str
    """What the command wrote to stdout, and then to stderr."""
    stdout: str

    @property
    def tail(self) -> str:
        return self.output[-TAIL_CHARS:]


async def run_command(
    client: AsyncSandboxAgent, command: str, directory: str, limit_s: float
) -> CommandResult:
    """Run a shell command in the sandbox; one that takes too long is killed and has exit code 124."""
    if client.provider is not None and client.provider.same_environment:
        return await _run_here(command, directory, limit_s)
    body = {
        "command": "sh",
        "args": ["-c", command],
        "cwd": directory,
        "timeoutMs": int(limit_s * 1000),
        "maxOutputBytes": MAX_OUTPUT_BYTES,
    }
    answer = await client._api.request("POST", "/v1/processes/run", json=body, timeout_s=limit_s + 30)
    facts = json_codec.decode(answer.content)
    code = TIMED_OUT if facts.get("timedOut") else facts.get("exitCode")
    if code is None:
        code = KILLED  # It was ended by a signal.
    return CommandResult(code, facts["stdout"] + facts["stderr"], facts["stdout"])


async def _run_here(command: str, directory: str, limit_s: float) -> CommandResult:
    """On this machine: the sandbox is a directory, and a process of this program needs no request."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        command,
        cwd=directory,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(limit_s):
            stdout, stderr = await process.communicate()
        code = process.returncode or 0
    except TimeoutError:
        code, stdout, stderr = TIMED_OUT, b"", b""
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    out, err = (data[-MAX_OUTPUT_BYTES:].decode("utf-8", "replace") for data in (stdout, stderr))
    return CommandResult(code, out + err, out)
