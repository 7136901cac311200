"""Real programs in a terminal: shells, editors, an interpreter, full-screen programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.clients.process_api import Processes

pytestmark = pytest.mark.own_server("the programs do not see what serves HTTP")
ALTERNATE_SCREEN = b"\x1b[?1049h"
# Says when it is in the foreground; keys that come sooner are those of the shell.
JOB = '$|=1; $SIG{CONT}=sub{print "resumed-", 1+1, "\\n"}; print "started-", 1+1, "\\n"; sleep 600 while 1'


@pytest.mark.clause("processes-programs")
def test_bash_has_job_control_unicode_and_control_keys(processes: Processes) -> None:
    shell = processes.create("bash", "--norc", "-i", tty=True, env={"PS1": "> ", "LC_ALL": "C.UTF-8"})
    with processes.terminal(shell) as terminal:
        terminal.wait_for(b"> ")
        terminal.type("echo 'grüße 🙂 '$((6*7))\n")
        terminal.wait_for("grüße 🙂 42\r\n".encode())
        terminal.type(f"perl -e '{JOB}'\n")
        terminal.wait_for(b"started-2\r\n")
        terminal.type("\x1a")
        terminal.wait_for(b"Stopped")
        terminal.type("fg\n")
        terminal.wait_for(b"resumed-2\r\n")
        terminal.type("\x03")
        terminal.type("echo code=$?\n")
        terminal.wait_for(b"code=130")
        terminal.type("printf '\\033[38;2;1;2;3mcolour\\033[0m\\n'\n")
        terminal.wait_for(b"\x1b[38;2;1;2;3mcolour\x1b[0m")
        terminal.type("\x04")
        assert terminal.wait_for_frame("exit")["exitCode"] == 0


@pytest.mark.clause("processes-programs")
def test_vim_edits_a_file_on_its_own_screen(processes: Processes, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    editor = processes.create("vim", "-u", "NONE", "-N", str(file), tty=True)
    with processes.terminal(editor) as terminal:
        terminal.wait_for(ALTERNATE_SCREEN)
        terminal.wait_for(b"notes.txt")
        terminal.send(type="resize", cols=100, rows=30)
        terminal.type("ihello from vim\x1b:wq\r")
        assert terminal.wait_for_frame("exit")["exitCode"] == 0
    assert file.read_text() == "hello from vim\n"


@pytest.mark.clause("processes-programs")
def test_nano_edits_a_file(processes: Processes, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    editor = processes.create("nano", "-I", str(file), tty=True)
    with processes.terminal(editor) as terminal:
        terminal.wait_for(b"notes.txt")
        terminal.type("hello from nano")
        terminal.type("\x18y\r")
        assert terminal.wait_for_frame("exit")["exitCode"] == 0
    assert file.read_text() == "hello from nano\n"


@pytest.mark.clause("processes-programs")
def test_the_python_interpreter_is_interactive(processes: Processes) -> None:
    interpreter = processes.create(sys.executable, "-I", "-q", tty=True)
    with processes.terminal(interpreter) as terminal:
        terminal.wait_for(b">>> ")
        terminal.type("6 * 7\n")
        terminal.wait_for(b"42\r\n")
        terminal.type("import time; print('sle' + 'eps'); time.sleep(600)\n")
        terminal.wait_for(b"sleeps\r\n")
        terminal.type("\x03")
        terminal.wait_for(b"KeyboardInterrupt")
        terminal.type("\x04")
        # Python may end by SIGINT then, because it remembers the interrupt.
        terminal.wait_for_frame("exit")


@pytest.mark.clause("processes-programs")
@pytest.mark.parametrize("program", ["top", "htop"])
def test_a_full_screen_program_follows_the_size(processes: Processes, program: str) -> None:
    process = processes.create(program, tty=True, cols=90, rows=20)
    with processes.terminal(process) as terminal:
        terminal.wait_for(b"PID")
        terminal.output.clear()
        terminal.send(type="resize", cols=120, rows=40)
        # top draws its heading again; htop only the cells that differ.
        terminal.wait_for(b"PID" if program == "top" else b"\x1b[")
        terminal.type("q")
        assert terminal.wait_for_frame("exit")["exitCode"] == 0


@pytest.mark.clause("processes-programs")
def test_git_rebases_interactively(processes: Processes, tmp_path: Path) -> None:
    identity = "-c user.name=a -c user.email=a@example.com"
    script = "git init -q . && for i in 1 2 3; do echo $i > $i; git add $i; git {} commit -qm c$i; done"
    assert processes.run(script.format(identity), cwd=str(tmp_path))["exitCode"] == 0
    rebase = processes.shell(
        f"git {identity} rebase -i HEAD~2",
        cwd=str(tmp_path),
        tty=True,
        env={"GIT_SEQUENCE_EDITOR": "vim -u NONE -N"},
    )
    with processes.terminal(rebase) as terminal:
        terminal.wait_for(b"pick")
        terminal.type(":2s/pick/fixup/\r:wq\r")
        assert terminal.wait_for_frame("exit")["exitCode"] == 0
    assert processes.run("git log --format=%s", cwd=str(tmp_path))["stdout"] == "c2\nc1\n"


@pytest.mark.clause("processes-programs")
def test_a_bracketed_paste_is_not_executed(processes: Processes) -> None:
    shell = processes.create("bash", "--norc", "-i", tty=True, env={"PS1": "> "})
    with processes.terminal(shell) as terminal:
        terminal.wait_for(b"\x1b[?2004h> ")
        terminal.type("\x1b[200~echo one-$((1+1))\necho two-$((1+1))\x1b[201~")
        terminal.wait_for(b"echo two-")
        assert b"one-2" not in terminal.output
        terminal.type("\n")
        terminal.wait_for(b"two-2\r\n")
        assert b"one-2\r\n" in terminal.output


@pytest.mark.node
@pytest.mark.clause("processes-programs")
def test_npm_draws_its_progress_and_installs(processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "package.json").write_text('{"name":"part","version":"1.0.0"}')
    (tmp_path / "package.json").write_text('{"name":"whole","dependencies":{"part":"file:part"}}')
    options = ("--no-audit", "--no-fund", "--offline", "--color=always")
    env = {"CI": "", "TERM": "xterm-256color", "npm_config_progress": "true"}
    install = processes.create("npm", "install", *options, cwd=str(tmp_path), tty=True, env=env)
    with processes.terminal(install) as terminal:
        assert terminal.wait_for_frame("exit")["exitCode"] == 0
    assert b"added 1 package" in terminal.output
    # The bar is drawn over itself: it goes to the beginning of the line and clears it.
    assert b"\x1b[1G" in terminal.output and b"\x1b[0K" in terminal.output
    assert (tmp_path / "node_modules" / "part" / "package.json").exists()


@pytest.mark.clause("processes-programs")
def test_tmux_ends_with_its_terminal(processes: Processes, tmp_path: Path) -> None:
    socket = str(tmp_path / "tmux")
    client = processes.create("tmux", "-S", socket, "-f", "/dev/null", "new", "sh", tty=True)
    with processes.terminal(client) as terminal:
        terminal.wait_for(ALTERNATE_SCREEN)
        terminal.type("echo inside-$((1+1))\n")
        terminal.wait_for(b"inside-2")
    # The server of tmux has left the session; it is found by its tag.
    assert processes.ok("POST", f"/{client}/kill")["status"] == "exited"
