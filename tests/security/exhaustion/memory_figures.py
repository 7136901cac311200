"""Memory at the peak and after each kind of abuse, side by side.

`python -m tests.security.exhaustion.memory_figures` measures this server, its application under uvicorn,
and the reference. Nothing here is a test; docs/promises.md has the figures.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench.reference import reference_binary

from tests.security.exhaustion import abuse
from tests.security.exhaustion.abuse import Attacker
from tests.support.processes import resident_bytes
from tests.support.server_process import COMMAND_VARIABLE, HttpServer, ServerProcess

RETURNED_WITHIN_S = 10
MB = 1_000_000
SERVERS = ("ours", "uvicorn", "reference")


class PeakMemory:
    """Watches the resident memory of a process until it is stopped."""

    def __init__(self, pid: int) -> None:
        self.peak = 0
        self._pid = pid
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stopped.wait(0.05):
            with suppress(OSError):
                self.peak = max(self.peak, resident_bytes(self._pid))

    def stop(self) -> int:
        self._stopped.set()
        self._thread.join()
        return self.peak


def measure(name: str, kind: Callable[[Attacker], None], seconds: float) -> str:
    """Growth at the peak and what is left ten seconds after the end, in MB."""
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(
            Path(directory), http_server=HttpServer.UVICORN if name == "uvicorn" else HttpServer.OWN
        )
        try:
            server.ready()
            for path in ("/v1/health", "/v1/agents", "/v1/nowhere"):
                server.client.get(path)
            before = resident_bytes(server.pid)
            memory, attacker = PeakMemory(server.pid), Attacker(server.port, 400)
            end = time.monotonic() + seconds
            try:
                while time.monotonic() < end:
                    with suppress(TimeoutError):  # A busy server accepts late; the attacker tries again.
                        kind(attacker)
            finally:
                peak = memory.stop()
            time.sleep(RETURNED_WITHIN_S)
            left = resident_bytes(server.pid) - before
            alive = server.client.get("/v1/health", timeout=30).status == 200
            return f"+{(peak - before) / MB:.0f} / {left / MB:+.0f}{'' if alive else ', no answer'}"
        except Exception as error:
            return f"{type(error).__name__}"
        finally:
            server.process.kill()
            server.process.wait()
            server.kill_leftovers()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    reference = str(reference_binary())
    print("| abuse | " + " | ".join(SERVERS) + " |")
    print("|---" * (len(SERVERS) + 1) + "|")
    for kind in abuse.KINDS:
        cells = []
        for name in SERVERS:
            os.environ.pop(COMMAND_VARIABLE, None)
            if name == "reference":
                os.environ[COMMAND_VARIABLE] = reference
            cells.append(measure(name, kind, seconds))
        print(f"| {kind.__name__.replace('_', ' ')} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
