"""`exec`, `shell` and `api processes` against a real server."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from sandbox_agent.cli.processes.screen_modes import ScreenModes
from tests.cli.conftest import Api
from tests.cli.sandbox_directory import PROGRAM, Result
from tests.support.processes import wait_until

pytestmark = pytest.mark.process
Exec = Callable[..., Result]


@pytest.fixture
def execute(api: Api) -> Exec:
    def run(*words: str, stdin: str | bytes = b"") -> Result:
        return api.sandbox.run("exec", *words, stdin=stdin, environment=api.environment)

    return run


@pytest.mark.clause("processes-cli")
def test_exec_passes_input_output_and_exit_code_on(execute: Exec, api: Api) -> None:
    done = execute("--", "sh", "-c", "cat; echo err >&2; exit 3", stdin="in\n")
    assert (done.code, done.out, done.err) == (3, "in\n", "err\n")
    assert execute("sh", "-c", "kill -9 $$").code == 128 + signal.SIGKILL
    assert execute("-C", "/", "-E", "NAME=a b", "--", "sh", "-c", 'pwd; echo "$NAME"').out == "/\na b\n"
    lines = "".join(f"{number}\n" for number in range(60_000))
    assert execute("cat", stdin=lines).out == lines
    assert execute("-E", "wrong", "true").code == 2
    assert api("processes", "list").json["processes"] == []


@pytest.mark.clause("processes-cli")
def test_a_command_that_cannot_be_started_has_the_exit_code_of_a_shell(
    execute: Exec, api: Api, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("not a program")
    for words, code in (
        (("no-such-program",), 127),
        (("--detach", "no-such-program"), 127),
        ((str(tmp_path / "missing"),), 127),
        ((str(tmp_path / "text"),), 126),
        ((str(tmp_path),), 126),
        (("-C", "/no/such/directory", "true"), 1),
    ):
        done = execute(*words)
        assert (done.code, done.out) == (code, ""), words
        assert json.loads(done.err)["status"] == 400
    assert api("processes", "list").json["processes"] == []


@pytest.mark.clause("processes-cli")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_or_a_closed_terminal_ends_the_command_and_what_it_started(
    api: Api, tmp_path: Path, number: signal.Signals
) -> None:
    process = api.sandbox.open(
        "exec", "--", "sh", "-c", f"sleep 600 & echo $! > {tmp_path}/pid; wait", environment=api.environment
    )
    wait_until((tmp_path / "pid").exists, 30, "the command runs")
    wait_until(lambda: (tmp_path / "pid").read_text().strip().isdigit(), 10, "it has written its child")
    process.send_signal(number)
    assert process.wait(30) == 128 + signal.SIGTERM
    child = (tmp_path / "pid").read_text().strip()
    wait_until(lambda: not Path(f"/proc/{child}").exists(), 10, "its child is gone")


@pytest.mark.clause("processes-cli")
def test_a_detached_process_is_listed_read_fed_and_ended(execute: Exec, api: Api) -> None:
    id = execute("--detach", "--", "sh", "-c", "echo begin; cat; exit 2").good().out.strip()
    shown = api("processes", "show", id).good().json
    assert shown["status"] == "running"
    assert id in api("processes", "list", "-o", "table").good().out
    wait_until(lambda: api("processes", "logs", id).good().out == "begin\n", 20, "the first line")
    api("processes", "input", id, "--close", stdin="typed\n").good()
    assert api("processes", "logs", id, "--follow").good().out == "begin\ntyped\n"
    assert api("processes", "show", id).good().json["exitCode"] == 2
    api("processes", "delete", id).good()
    assert api("processes", "show", id).code == 1
    for how, name in (("stop", "SIGTERM"), ("kill", "SIGKILL")):
        id = execute("--detach", "sleep", "600").good().out.strip()
        api("processes", how, id).good()
        assert api("processes", "show", id).good().json["signal"] == name
        api("processes", "delete", id).good()


@pytest.fixture
def shell(api: Api) -> Iterator[Callable[..., pexpect.spawn]]:
    opened: list[pexpect.spawn] = []

    def spawn(*words: str) -> pexpect.spawn:
        child = pexpect.spawn(
            PROGRAM[0],
            ["shell", *words],
            env={**api.sandbox.environment, **api.environment, "TERM": "xterm-256color"},
            cwd=str(api.sandbox.home),
            timeout=30,
            encoding="utf-8",
            dimensions=(30, 100),
        )
        opened.append(child)
        return child

    yield spawn
    for child in opened:
        child.close(force=True)


@pytest.mark.clause("processes-cli")
def test_a_shell_has_size_colours_and_keys_and_can_be_left_and_found_again(
    shell: Callable[..., pexpect.spawn], api: Api
) -> None:
    child = shell("-E", "PS1=ready> ", "--", "sh")
    child.expect_exact("ready> ")
    child.sendline("stty size; echo term-$TERM")
    child.expect_exact("30 100")
    child.expect_exact("term-xterm-256color")
    child.setwinsize(40, 120)
    child.sendline("until stty size | grep 120; do :; done")
    child.expect_exact("40 120")
    child.sendline("sleep 600")
    child.send("\x03")
    child.expect_exact("ready> ")
    child.sendline("value=kept")
    child.send("\x1d")
    child.expect(r"--attach (proc_\d+)")
    id = child.match[1]
    child.expect(pexpect.EOF)
    again = shell("--attach", id)
    again.expect_exact("term-xterm-256color")
    again.sendline("echo value-$value")
    again.expect_exact("value-kept")
    again.sendline("exit 9")
    again.expect(pexpect.EOF)
    again.wait()
    assert again.exitstatus == 9
    assert api("processes", "list").json["processes"] == []


@pytest.mark.clause("processes-cli")
@pytest.mark.parametrize(("command", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_a_shell_that_cannot_be_started_has_the_exit_code_of_one(
    shell: Callable[..., pexpect.spawn], command: str, code: int
) -> None:
    child = shell("--", command)
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == code


@pytest.mark.clause("processes-cli")
@pytest.mark.parametrize("end", ["detach", "kill"])
def test_the_terminal_is_as_before_when_a_full_screen_program_is_left_or_killed(
    shell: Callable[..., pexpect.spawn], api: Api, end: str
) -> None:
    switched = "\\033[?1049h\\033[?25l\\033[?1002;1006h\\033[?2004h\\033[?2004l"
    child = shell("--", "sh", "-c", f"printf '{switched}drawn'; sleep 600")
    child.expect_exact("drawn")
    (running,) = api("processes", "list").json["processes"]
    if end == "detach":
        child.send("\x1d")
    else:
        api("processes", "kill", running["id"]).good()
    child.expect_exact("\x1b[?1049l\x1b[?25h\x1b[?1002l\x1b[?1006l\x1b[0m")
    child.expect(pexpect.EOF)
    if end == "detach":
        api("processes", "kill", running["id"]).good()
        api("processes", "delete", running["id"]).good()


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_switch_that_comes_in_two_pieces_is_seen(cut: int) -> None:
    modes, switch = ScreenModes(), b"\x1b[?1049h"
    modes.read(b"text" + switch[:cut])
    modes.read(switch[cut:] + b"\x1b[?25h")
    assert modes.undo() == b"\x1b[?1049l\x1b[0m"
    modes.read(b"\x1b[?1049l")
    assert modes.undo() == b""


@pytest.mark.clause("processes-cli", "processes-programs")
def test_an_editor_and_an_interpreter_work_in_a_shell(
    shell: Callable[..., pexpect.spawn], tmp_path: Path
) -> None:
    file = tmp_path / "grüße.txt"
    child = shell("-E", "PS1=ready> ", "-E", "LC_ALL=C.UTF-8", "--", "bash", "--norc")
    child.expect_exact("\x1b[?2004hready> ")
    child.sendline(f"cd '{tmp_path}'")
    child.expect_exact("\x1b[?2004hready> ")
    child.send("\x1b[200~vim -u NONE -N grüße.txt\x1b[201~\r")
    child.expect_exact("\x1b[?1049h")
    child.send("i24-bit \U0001f642\x1b:wq\r")
    child.expect_exact("\x1b[?1049l")
    child.expect_exact("ready> ")
    assert file.read_text("utf-8") == "24-bit \U0001f642\n"
    child.sendline(f"{sys.executable} -I -q")
    child.expect_exact(">>> ")
    child.sendline("print('\\x1b[38;2;9;8;7m' + 'c' + 'olour'); import time; time.sleep(600)")
    child.expect_exact("\x1b[38;2;9;8;7mcolour")
    child.send("\x03")
    child.expect_exact("KeyboardInterrupt")
    child.expect_exact(">>> ")
    child.send("\x04")
    child.expect_exact("ready> ")
    child.sendline("exit 3")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 3


def test_a_shell_without_a_terminal_is_refused(api: Api) -> None:
    done = api.sandbox.run("shell", environment=api.environment)
    assert done.code == 2 and "needs a terminal" in done.err
