"""The remote form: a bridge between the editor and one instance of a server.

Three threads: one reads stdin, one posts what it read, one reads the stream and writes stdout. The main
thread waits for the end. Messages pass unchanged, except for the directories of `--map`; messages of the
server itself (`_adapter/*`) go to stderr.
"""

from __future__ import annotations

import json
import queue
import secrets
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from sandbox_agent.bridge.jsonrpc import envelope as envelopes
from sandbox_agent.bridge.jsonrpc.scanner import NotJson
from sandbox_agent.cli.acp.abandoned_instance import AbandonedInstance
from sandbox_agent.cli.acp.directory_map import DirectoryMap
from sandbox_agent.cli.acp.editor import STDOUT, Editor, EditorGone
from sandbox_agent.cli.acp.ending import EDITOR_END_GRACE_S, Ending
from sandbox_agent.cli.acp.message_sender import MessageSender
from sandbox_agent.cli.acp.open_requests import OpenRequests, error_answer
from sandbox_agent.cli.acp.reconnection import Reconnection
from sandbox_agent.cli.acp.server_connection import Server
from sandbox_agent.cli.acp.stream_receiver import StreamReceiver

# What the editor may have written before the server has it; stdin is not read while the queue is full.
_QUEUED_MESSAGES = 1000
_POLL_S = 0.02
_ADAPTER_MESSAGE = b'{"jsonrpc":"2.0","method":"_adapter/'


class RemoteAgent:
    def __init__(
        self,
        url: str,
        token: str | None,
        agent: str,
        server_id: str | None,
        directories: DirectoryMap,
        reconnect_for_s: float,
    ) -> None:
        """Without `server_id` the instance has an id of its own and is deleted at the end."""
        self._server = Server(url, token)
        self._is_own = server_id is None
        self._server_id = server_id or f"acp-{secrets.token_hex(8)}"
        self._directories = directories
        self._editor = Editor()
        self._open = OpenRequests()
        self._ending = Ending()
        reconnection = Reconnection(reconnect_for_s)
        self._sender = MessageSender(self, self._server, self._server_id, agent, reconnection)
        self._receiver = StreamReceiver(self, self._server, self._server_id, reconnection)
        self._queue: queue.Queue[bytes | None] = queue.Queue(_QUEUED_MESSAGES)
        self._all_sent = threading.Event()
        self._loss_lock = threading.Lock()

    def run(self) -> int:
        """Run until the editor ends or the server is lost; returns the exit code."""
        abandoned = AbandonedInstance(self._server, self._server_id) if self._is_own else None
        _start(self._read_editor)
        _start(self._send)
        poll = select.poll()
        poll.register(self._ending.descriptor, select.POLLIN)
        poll.register(STDOUT, 0)
        poll.poll()
        if abandoned is not None:
            abandoned.delete_now()
        return self._ending.exit_code or 0

    # ---- from the editor ---------------------------------------------------------------------------------

    def _read_editor(self) -> None:
        for line in self._editor.lines():
            if line.strip():
                self._queue.put(line)
        self._queue.put(None)
        deadline = time.monotonic() + EDITOR_END_GRACE_S
        while time.monotonic() < deadline and (len(self._open) or not self._all_sent.is_set()):
            time.sleep(_POLL_S)
        self._ending.request(0)

    def _send(self) -> None:
        while (line := self._queue.get()) is not None:
            self._sender.send(self._directories.to_remote(line))
        self._all_sent.set()

    # ---- reports of the sender ---------------------------------------------------------------------------

    def about_to_start(self) -> None:
        if not self._is_own:
            self._receiver.skip_existing()

    def request_opened(self, raw_id: bytes) -> None:
        self._open.add(raw_id)

    def request_accepted(self, raw_id: bytes) -> None:
        self._open.accepted(raw_id)

    def started(self) -> None:
        _start(self._receiver.run)

    def refused(self, raw_id: bytes, answer: bytes) -> None:
        if not raw_id or self._open.close(raw_id):
            self._write(answer)

    def instance_gone(self) -> bool:
        return self._receiver.instance_gone()

    # ---- reports of the receiver -------------------------------------------------------------------------

    def message_received(self, message: bytes) -> None:
        if message.startswith(_ADAPTER_MESSAGE):
            self._take_adapter_message(message)
            return
        try:
            _, raw_id, has_method = envelopes.peek_quickly(message) or envelopes.peek_in_thread(message)
        except NotJson:
            return  # The server publishes JSON only.
        if has_method or not raw_id:
            self._write(message)
        elif self._open.close(raw_id):
            self._write(self._directories.to_local(message))

    def _take_adapter_message(self, message: bytes) -> None:
        content = json.loads(message)
        params = content["params"]
        if content["method"] == "_adapter/agent_exited":
            raise self._receiver.exit_of_agent()
        print(f"sandbox-agent: {content['method']}: {params.get('raw')}", file=sys.stderr)

    def open_on_server(self) -> list[bytes]:
        return self._open.on_server

    def never_answered(self, raw_ids: list[bytes]) -> None:
        for raw_id in raw_ids:
            if self._open.close(raw_id):
                self._write(error_answer(raw_id, "the agent did not answer the request in time"))

    def lost(self, reason: str, data: object = None) -> None:
        """Answer every open request with an error, and end."""
        with self._loss_lock:
            if self._ending.exit_code is not None:
                return
            print(f"sandbox-agent: {reason}", file=sys.stderr)
            for raw_id in [*self._open.close_all(), *self._unsent_requests()]:
                self._write(error_answer(raw_id, reason, data))
            self._ending.request(1)

    def _unsent_requests(self) -> Iterator[bytes]:
        with suppress(queue.Empty):
            while (line := self._queue.get_nowait()) is not None:
                with suppress(NotJson):
                    _, raw_id, has_method = envelopes.peek_thoroughly(line)
                    if raw_id and has_method:
                        yield raw_id

    def _write(self, message: bytes) -> None:
        try:
            self._editor.write(message)
        except EditorGone:
            self._ending.request(0)


def _start(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()
