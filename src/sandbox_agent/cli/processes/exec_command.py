"""`sandbox-agent exec`: run a command in the sandbox as if it ran here."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import CancelledError

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.processes.launch_options import launch_options
from sandbox_agent.cli.processes.run_program import run_program
from sandbox_agent.sdk.errors import ConflictError, NotFoundError
from sandbox_agent.sdk.resources.processes.process import AsyncProcess
from sandbox_agent.sdk.resources.processes.process_models import shell_exit_code
from sandbox_agent.sdk.resources.processes.processes import AsyncProcesses
from sandbox_agent.sdk.transport.http_api import HttpApi

_READ_BYTES = 48 * 1024


@click.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@launch_options
@click.option("-d", "--detach", is_flag=True, help="Print the id of the process and leave it running.")
@with_connection
def exec_command(
    connection: ApiConnection,
    command: tuple[str, ...],
    cwd: str | None,
    env: Mapping[str, str],
    detach: bool,
) -> int:
    """Run COMMAND in the sandbox; write `--` before it if it has options.

    Input, output and exit code are those of the command; a signal is 128 plus its number, 127 and 126 are a
    command that is not found or not executable. Input is passed on unless it is a terminal (`sandbox-agent
    shell` is for those). Ctrl-C asks the command to end, a second one kills it.
    """

    async def run(api: HttpApi) -> int:
        if detach:
            process = await AsyncProcesses(api).start(command, cwd=cwd, env=env)
            click.echo(process.id)
            return 0
        interrupts = _Interrupts()
        # The signals are handled before the command runs, so that none can leave it behind.
        process = await AsyncProcesses(api).start(command, cwd=cwd, env=env)
        return await _Execution(process, interrupts).run()

    return run_program(connection, run)


class _Interrupts:
    """Counts SIGINT, SIGTERM and SIGHUP and tells the execution."""

    def __init__(self) -> None:
        self.count = 0
        self.on_interrupt: Callable[[], object] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._add)

    def _add(self) -> None:
        self.count += 1
        if self.on_interrupt is not None:
            self.on_interrupt()


class _Execution:
    def __init__(self, process: AsyncProcess, interrupts: _Interrupts) -> None:
        self._process = process
        self._ending: set[asyncio.Task[object]] = set()
        self._interrupts = interrupts

    async def run(self) -> int:
        self._interrupts.on_interrupt = self._end_command
        if self._interrupts.count:
            self._end_command()
        feeding = asyncio.create_task(self._feed())
        try:
            async for output in self._process.output():
                if output.missed:
                    click.echo(f"{output.missed} pieces of output are no longer kept", err=True)
                target = sys.stderr if output.stream == "stderr" else sys.stdout
                target.buffer.write(output.data)
                target.buffer.flush()
            info = await self._process.refresh()
        except BaseException:
            await asyncio.shield(self._process.delete())  # also if the reader of stdout is gone
            raise
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, *self._ending, return_exceptions=True)
        await self._process.delete()
        return shell_exit_code(info.exit_code, info.signal)

    def _end_command(self) -> None:
        """The first interrupt asks the command to end, a further one kills it."""
        end = self._process.stop(timeout=60.0) if self._interrupts.count == 1 else self._process.kill()
        self._ending.add(asyncio.create_task(end))

    async def _feed(self) -> None:
        """Pass standard input on, and its end; nothing if it is a terminal."""
        stdin = self._process.stdin
        try:
            if not sys.stdin.isatty():
                async for data in _standard_input():
                    await stdin.write(data)
            await stdin.close()
        except (ConflictError, NotFoundError):
            return  # The process has exited, or has closed its input.


async def _standard_input() -> AsyncIterator[bytes]:
    """What comes on stdin. The thread is a daemon: a read that never returns must not delay the exit."""
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes] = asyncio.Queue(maxsize=1)

    def read() -> None:
        data = b"-"
        while data:
            data = os.read(0, _READ_BYTES)
            try:
                asyncio.run_coroutine_threadsafe(pieces.put(data), loop).result()
            except (RuntimeError, CancelledError):
                return  # The loop has ended: the command has exited.

    threading.Thread(target=read, daemon=True).start()
    while data := await pieces.get():
        yield data
