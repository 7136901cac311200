"""Requests of the editor that the agent has not answered yet.

An answer is passed on only if its request is open here: other clients may use the same instance, and each
answer arrives exactly once. When the server is lost, every open request gets a JSON-RPC error.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from sandbox_agent.bridge.jsonrpc.message_id import id_key
from sandbox_agent.jsonrpc_error_codes import INTERNAL_ERROR


class OpenRequests:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._raw_ids: dict[bytes, bytes] = {}
        self._accepted: set[bytes] = set()

    def add(self, raw_id: bytes) -> None:
        with self._lock:
            self._raw_ids[id_key(raw_id)] = raw_id

    def accepted(self, raw_id: bytes) -> None:
        """The server has taken the request."""
        with self._lock:
            if id_key(raw_id) in self._raw_ids:
                self._accepted.add(id_key(raw_id))

    def close(self, raw_id: bytes) -> bool:
        """The request is answered; false if it is not open."""
        with self._lock:
            self._accepted.discard(id_key(raw_id))
            return self._raw_ids.pop(id_key(raw_id), None) is not None

    @property
    def on_server(self) -> list[bytes]:
        """The ids of open requests that the server has taken."""
        with self._lock:
            return [self._raw_ids[key] for key in self._accepted]

    def close_all(self) -> list[bytes]:
        with self._lock:
            raw_ids = list(self._raw_ids.values())
            self._raw_ids.clear()
            self._accepted.clear()
            return raw_ids

    def __len__(self) -> int:
        return len(self._raw_ids)


def error_answer(raw_id: bytes, message: str, data: Any = None, code: int = INTERNAL_ERROR) -> bytes:
    """A JSON-RPC error as the answer to a request."""
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (raw_id, json.dumps(error).encode())
