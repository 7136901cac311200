"""The command that the installed wheel provides: it starts quickly and from any directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Built, install
from .program import Program

# What is built and installed once counts for the first test that needs it.
pytestmark = pytest.mark.timeout(300)


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_the_command_loads_nothing_that_costs_before_our_code(installed: Path) -> None:
    lines = (installed / "sandbox-agent").read_text().splitlines()
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert imports == ["import sys", "from sandbox_agent.cli.main import main"]


@pytest.mark.clause("packaging-wheel-and-sdist")
@pytest.mark.parametrize("directory", ["a directory with blanks", f"{'long' * 40}/{'longer' * 20}"])
def test_the_command_starts_where_a_first_line_cannot_name_its_python(
    built: Built, tmp_path: Path, directory: str
) -> None:
    """Neither a path with blanks nor a very long one may stand after `#!`."""
    program = Program([str(install(built, tmp_path / directory) / "sandbox-agent")], tmp_path / "home")
    done = program.run("--version")
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["sandbox-agent"]), done.stderr
