"""The few calls that Amp's program of May 2026 makes to its vendor's backend: `POST /api/internal`."""

from __future__ import annotations

import threading
from time import monotonic
from typing import Any

_TOO_FRESH_S = 0.8


class AmpBackend:
    """Keeps uploaded threads, which the program requests later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: dict[str, tuple[float, Any]] = {}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        method, params = body.get("method"), body.get("params") or {}
        if method == "getThread":
            return self._thread(params.get("thread") or params.get("threadID") or params.get("id"))
        if method == "uploadThread":
            thread = params.get("thread") or {}
            with self._lock:
                self._threads[str(thread.get("id"))] = (monotonic(), thread)
        return {"ok": True, "result": _RESULTS.get(str(method), {})}

    def _thread(self, thread_id: Any) -> dict[str, Any]:
        with self._lock:
            uploaded, thread = self._threads.get(str(thread_id), (monotonic(), None))
        # A thread that was uploaded a moment ago would overwrite the program's newer state.
        if thread is None or monotonic() - uploaded < _TOO_FRESH_S:
            return {"ok": False, "error": {"code": "thread-not-found", "message": "no such thread"}}
        return {"ok": True, "result": {"thread": {"data": thread}}}


_RESULTS: dict[str, Any] = {
    "getUserInfo": {
        "id": "user_fake",
        "email": "nobody@example.invalid",
        "username": "nobody",
        "features": [],
        "team": None,
        "workspace": None,
    },
    "getUserFreeTierStatus": {"canUseAmpFree": False, "isDailyGrantEnabled": False},
    "getThreads": [],
    "loadPlugins": [],
}
