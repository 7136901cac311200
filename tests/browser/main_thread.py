"""Processor time of a page's main thread, by frame and by task; the load of the machine does not count."""

from __future__ import annotations

import json
from bisect import bisect_right
from types import TracebackType
from typing import Any

from playwright.sync_api import Page


class MainThread:
    """Traces a page while it is entered; the figures are there afterwards."""

    def __init__(self, page: Page) -> None:
        browser = page.context.browser
        assert browser is not None
        self._page, self._browser = page, browser
        self.frames_ms: list[float] = []
        """The time used between one animation frame and the next."""
        self.longest_task_ms = 0.0

    def __enter__(self) -> MainThread:
        self._browser.start_tracing(
            page=self._page, categories=["toplevel", "devtools.timeline", "__metadata"]
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._read(json.loads(self._browser.stop_tracing())["traceEvents"])

    @property
    def frame_p95_ms(self) -> float:
        return sorted(self.frames_ms)[min(len(self.frames_ms) - 1, int(len(self.frames_ms) * 0.95))]

    def _read(self, trace: list[dict[str, Any]]) -> None:
        fired = [event for event in trace if event["name"] == "FireAnimationFrame"]
        main = (fired[0]["pid"], fired[0]["tid"])
        starts = sorted(event["ts"] for event in fired if (event["pid"], event["tid"]) == main)
        self.frames_ms = [0.0] * len(starts)
        for event in trace:
            if not event["name"].endswith("RunTask") or (event["pid"], event["tid"]) != main:
                continue
            cost = event.get("tdur", 0) / 1000
            self.longest_task_ms = max(self.longest_task_ms, cost)
            frame = bisect_right(starts, event["ts"] + event.get("dur", 0)) - 1
            if frame >= 0:
                self.frames_ms[frame] += cost
