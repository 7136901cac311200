"""Programs start in their directory, whichever of the two ways it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from sandbox_agent.bridge.process.spawn import spawn
own, wanted, gone = sys.argv[1:]
os.chdir(own)
if gone == "gone":
    os.rmdir(own)
program = spawn(("/bin/sh", "-c", "pwd -P"), {}, wanted, {})
os.waitpid(program.pid, 0)
print(os.read(program.stdout, 4096).decode())
"""


@pytest.mark.parametrize(
    ("own", "wanted", "gone"), [("here", "here", ""), ("here", "there", ""), ("here", "there", "gone")]
)
def test_it_runs_in_its_directory_also_when_that_of_the_server_is_gone(
    tmp_path: Path, own: str, wanted: str, gone: str
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / own), str(tmp_path / wanted), gone]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == str(tmp_path.resolve() / wanted)
