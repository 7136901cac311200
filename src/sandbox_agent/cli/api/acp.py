"""`api acp`: list, post, stream and close."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import IO, Any

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.api.stream_follower import StreamFollower
from sandbox_agent.cli.output import OutputFormat, Row, output_option, print_json, show
from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.transport.http_api import HttpApi, segment

COLUMNS = ("server id", "agent", "status", "pid", "pending", "last event", "readers", "silent for")
server_id_option = click.option("--server-id", required=True, help="Id of the instance; any text.")


def _rows(instances: Iterable[dict[str, Any]]) -> Iterable[Row]:
    now = time.time() * 1000
    for one in instances:
        status = one["status"]
        if status == "exited":
            status += f" ({one.get('signal') or one.get('exitCode')})"
        silence = f"{max(0, now - one['lastActivityMs']) / 1000:.0f} s" if "lastActivityMs" in one else None
        facts = (one.get("pendingRequests"), one.get("lastEventId"), one.get("subscribers"))
        yield (one["serverId"], one["agent"], status, one.get("pid"), *facts, silence)


@click.command("list")
@output_option
@with_connection
def list_instances(connection: ApiConnection, output: OutputFormat) -> None:
    """List all agent instances, running or exited."""
    document = connection.request("GET", "/v1/acp")
    show(document, output, COLUMNS, lambda: _rows(document["servers"]))


@click.command()
@server_id_option
@click.option("--agent", help="Agent to start if there is no instance yet.")
@click.option("--json", "text", help="The JSON-RPC message.")
@click.option("--json-file", type=click.File("rb"), help="File with the message; - for stdin.")
@click.option("--cwd", help="Working directory of an agent that this message starts.")
@click.option("--wait", type=click.IntRange(1), help="Time limit without output of the agent, in seconds.")
@click.option("--respond-async", is_flag=True, help="Do not wait; the response comes on the stream only.")
@with_connection
def post(
    connection: ApiConnection,
    server_id: str,
    agent: str | None,
    text: str | None,
    json_file: IO[bytes] | None,
    cwd: str | None,
    wait: int | None,
    respond_async: bool,
) -> None:
    """Send one JSON-RPC message and print the response; a notification or response prints nothing."""
    if (text is None) == (json_file is None):
        raise click.UsageError("give the message with either --json or --json-file")
    body = text.encode() if text is not None else (json_file.read() if json_file else b"")
    preferences = [f"wait={wait}"] if wait else []
    preferences += ["respond-async"] if respond_async else []
    headers = {"content-type": "application/json", "accept": "application/json"}
    if preferences:
        headers["prefer"] = ", ".join(preferences)

    async def send(api: HttpApi) -> bytes:
        query = {"agent": agent, "cwd": cwd}
        path = f"/v1/acp/{segment(server_id)}"
        async with api.open(
            "POST", path, query=query, body=body, headers=headers, unlimited=True
        ) as response:
            return await response.aread()

    response_body = connection.run(send)
    if response_body.strip():
        print_json(json_codec.decode(response_body))


@click.command()
@server_id_option
@click.option("--last-event-id", type=click.IntRange(0), help="Start after this event instead of the first.")
@click.option("--ids", is_flag=True, help="Print the event number and a tab before each line.")
@click.option("--no-follow", is_flag=True, help="Stop at the newest event instead of waiting for more.")
@with_connection
def stream(
    connection: ApiConnection, server_id: str, last_event_id: int | None, ids: bool, no_follow: bool
) -> None:
    """Follow the messages of an instance, one per line, exactly as the agent wrote them.

    A broken connection is resumed after the last event. The exit code is 0 when the instance is closed, and 1
    when it does not exist.
    """

    def write(event_id: str | None, data: bytes) -> None:
        line = data.replace(b"\n", b" ") + b"\n"
        sys.stdout.buffer.write(f"{event_id}\t".encode() + line if ids else line)
        sys.stdout.buffer.flush()

    connection.run(
        lambda api: StreamFollower(api, server_id, write).follow(last_event_id, stop_at_newest=no_follow)
    )


@click.command()
@server_id_option
@with_connection
def close(connection: ApiConnection, server_id: str) -> None:
    """End an instance and all its processes."""
    connection.run(lambda api: api.request("DELETE", f"/v1/acp/{segment(server_id)}"))
