"""Orphans become children of the main thread of the process that adopts them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

# Adopts the orphan of a child that another thread has started, and prints whether it is found.
ADOPTION = """
import json, subprocess, threading, time
from sandbox_agent.bridge.process.tree import process_table, subreaper

subreaper.become_subreaper()
others = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(3)]
for thread in others:
    thread.start()
orphan = []

def start():
    script = "setsid sleep 60 >/dev/null & echo $!"
    orphan.append(int(subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE).stdout))

starter = threading.Thread(target=start)
starter.start()
starter.join()
deadline = time.monotonic() + 10
while process_table.ProcessStat(orphan[0]).parent != __import__("os").getpid():
    assert time.monotonic() < deadline
print(json.dumps([orphan[0] in process_table.adopted_children(), orphan[0] in process_table.own_children()]))
__import__("os").kill(orphan[0], 9)
"""


@pytest.mark.clause("promise-H")
def test_an_orphan_of_another_thread_is_found() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ADOPTION], stdout=subprocess.PIPE, timeout=30, check=True, text=True
    )
    assert json.loads(done.stdout) == [True, True]
