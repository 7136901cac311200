"""`sandbox-agent shell`: a terminal of the sandbox in this terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.processes.launch_options import launch_options
from sandbox_agent.cli.processes.run_program import run_program
from sandbox_agent.cli.processes.screen_modes import ScreenModes
from sandbox_agent.sdk.errors import APIConnectionError
from sandbox_agent.sdk.resources.processes.process_models import shell_exit_code
from sandbox_agent.sdk.resources.processes.terminals import SHELL, AsyncTerminal, AsyncTerminals
from sandbox_agent.sdk.transport.http_api import HttpApi

DETACH = b"\x1d"  # Ctrl-], as telnet
_READ_BYTES = 4096


@click.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@launch_options
@click.option("-a", "--attach", metavar="ID", help="Attach to a terminal that is running.")
@with_connection
def shell_command(
    connection: ApiConnection,
    command: tuple[str, ...],
    cwd: str | None,
    env: Mapping[str, str],
    attach: str | None,
) -> int:
    """Open a shell in the sandbox, or COMMAND in a terminal; write `--` before it if it has options.

    Ctrl-] detaches: the program goes on, and --attach ID returns to it with its screen. The exit code is that
    of the program; 127 and 126 are one that is not found or not executable.
    """
    if not sys.stdin.isatty():
        raise click.UsageError("shell needs a terminal; `sandbox-agent exec` does not")
    if attach and command:
        raise click.UsageError("--attach takes no command")
    variables = {"TERM": os.environ.get("TERM", "xterm-256color"), **env}

    async def run(api: HttpApi) -> int:
        terminals = AsyncTerminals(api)
        size = os.get_terminal_size(sys.stdin.fileno())
        if attach:
            terminal = await terminals.attach(attach)
            await terminal.resize(size.columns, size.lines)
        else:
            terminal = await terminals.open(
                command or SHELL, cwd=cwd, env=variables, cols=size.columns, rows=size.lines
            )
        return await _TerminalBridge(terminal).run()

    return run_program(connection, run)


class _TerminalBridge:
    """Connects this terminal with one of the sandbox."""

    def __init__(self, terminal: AsyncTerminal) -> None:
        self._terminal = terminal
        self._typed: asyncio.Queue[bytes] = asyncio.Queue()
        self._detached = False

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        stdin = sys.stdin.fileno()
        modes = ScreenModes()
        with _raw_mode(stdin):
            loop.add_reader(stdin, self._read, stdin)
            loop.add_signal_handler(signal.SIGWINCH, self._typed.put_nowait, b"")
            typing = asyncio.create_task(self._type())
            try:
                async with self._terminal:
                    async for data in self._terminal:
                        modes.read(data)
                        sys.stdout.buffer.write(data)
                        sys.stdout.buffer.flush()
            finally:
                sys.stdout.buffer.write(modes.undo())
                sys.stdout.buffer.flush()
                loop.remove_reader(stdin)
                typing.cancel()
                await asyncio.gather(typing, return_exceptions=True)
        if self._detached:
            click.echo(f"\ndetached; return with: sandbox-agent shell --attach {self._terminal.id}", err=True)
            return 0
        await self._terminal.process.delete()
        return shell_exit_code(self._terminal.exit_code, self._terminal.exit_signal)

    def _read(self, stdin: int) -> None:
        data = os.read(stdin, _READ_BYTES)
        self._typed.put_nowait(data or DETACH)

    async def _type(self) -> None:
        """Send what is typed, in order; an empty piece is a change of the size."""
        while True:
            data = await self._typed.get()
            before, key, _ = data.partition(DETACH)
            try:
                if data == b"":
                    size = os.get_terminal_size(sys.stdin.fileno())
                    await self._terminal.resize(size.columns, size.lines)
                elif before:
                    await self._terminal.send(before)
            except APIConnectionError:
                sys.stdout.buffer.write(b"\a")  # What was typed is lost; the output goes on by itself.
                sys.stdout.buffer.flush()
            if key:
                self._detached = True
                await self._terminal.detach()
                return


@contextmanager
def _raw_mode(fd: int) -> Iterator[None]:
    """Pass every key on as it is typed."""
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
