"""`api processes`: the processes that users have started in the sandbox."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.output import OutputFormat, Row, output_option, print_json, show
from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.resources.processes.process import AsyncProcess
from sandbox_agent.sdk.resources.processes.processes import AsyncProcesses
from sandbox_agent.sdk.transport.http_api import HttpApi, segment

COLUMNS = ("id", "status", "pid", "age", "terminal", "command")
id_argument = click.argument("id")


def _rows(processes: Iterable[dict[str, Any]]) -> Iterable[Row]:
    now = time.time() * 1000
    for one in processes:
        status = one["status"]
        if status == "exited":
            status += f" ({one.get('signal') or one.get('exitCode')})"
        age = f"{max(0, now - one['createdAtMs']) / 1000:.0f} s"
        line = " ".join([one["command"], *one["args"]])
        yield (one["id"], status, one.get("pid"), age, "yes" if one["tty"] else "", line)


@click.command("list")
@output_option
@with_connection
def list_processes(connection: ApiConnection, output: OutputFormat) -> None:
    """List all processes, running or exited."""
    document = connection.request("GET", "/v1/processes")
    show(document, output, COLUMNS, lambda: _rows(document["processes"]))


@click.command("show")
@id_argument
@with_connection
def show_process(connection: ApiConnection, id: str) -> None:
    """Show one process."""
    print_json(connection.request("GET", _path(id)))


@click.command()
@id_argument
@click.option("-f", "--follow", is_flag=True, help="Wait for more until the process exits.")
@with_connection
def logs(connection: ApiConnection, id: str, follow: bool) -> None:
    """Write the output of a process to stdout and stderr, as the process wrote it."""

    async def write(api: HttpApi) -> None:
        process = await AsyncProcesses(api).get(id)
        if not follow and process.info.status == "running":
            answer = json_codec.decode((await api.request("GET", f"{_path(id)}/logs")).content)
            last = max((entry["sequence"] for entry in answer["entries"]), default=0)
            if last:
                await _write(process, until=last)
        else:
            await _write(process, until=None)

    connection.run(write)


async def _write(process: AsyncProcess, until: int | None) -> None:
    async with aclosing(process.output()) as outputs:
        async for output in outputs:
            target = sys.stderr if output.stream == "stderr" else sys.stdout
            target.buffer.write(output.data)
            target.buffer.flush()
            if until is not None and output.sequence >= until:
                return


@click.command("input")
@id_argument
@click.option("--close", is_flag=True, help="Close the input of the process afterwards.")
@with_connection
def send_input(connection: ApiConnection, id: str, close: bool) -> None:
    """Write stdin of this command to the input of a process."""
    data = sys.stdin.buffer.read()

    async def send(api: HttpApi) -> None:
        process = await AsyncProcesses(api).get(id)
        await process.stdin.write(data)
        if close:
            await process.stdin.close()

    connection.run(send)


@click.command()
@id_argument
@with_connection
def stop(connection: ApiConnection, id: str) -> None:
    """Ask a process to end, and kill it if it has not after 5 seconds."""
    connection.run(lambda api: _ended(api, id, kill=False))


@click.command()
@id_argument
@with_connection
def kill(connection: ApiConnection, id: str) -> None:
    """Kill a process and everything it started."""
    connection.run(lambda api: _ended(api, id, kill=True))


async def _ended(api: HttpApi, id: str, *, kill: bool) -> None:
    process = await AsyncProcesses(api).get(id)
    await (process.kill() if kill else process.stop())


@click.command()
@id_argument
@with_connection
def delete(connection: ApiConnection, id: str) -> None:
    """Forget an exited process and its output."""
    connection.run(lambda api: api.request("DELETE", _path(id)))


def _path(id: str) -> str:
    return f"/v1/processes/{segment(id)}"
