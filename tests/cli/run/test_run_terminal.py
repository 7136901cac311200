"""`run` in a real terminal: a person is asked for permissions and answers, and can interrupt."""

from __future__ import annotations

from collections.abc import Iterator

import pexpect
import pytest

from tests.cli.sandbox_directory import PROGRAM, SandboxDirectory


@pytest.fixture
def terminal(sandbox: SandboxDirectory) -> Iterator[list[pexpect.spawn]]:
    opened: list[pexpect.spawn] = []
    yield opened
    for child in opened:
        child.close(force=True)


def _run(sandbox: SandboxDirectory, terminal: list[pexpect.spawn], *words: str) -> pexpect.spawn:
    child = pexpect.spawn(
        PROGRAM[0],
        ["run", *words],
        env=sandbox.environment,
        cwd=str(sandbox.home),
        timeout=30,
        encoding="utf-8",
    )
    terminal.append(child)
    return child


def _end(child: pexpect.spawn) -> int | None:
    child.expect(pexpect.EOF)
    child.wait()
    code: int | None = child.exitstatus
    return code


@pytest.mark.clause("cli-run-in-a-terminal")
@pytest.mark.parametrize(
    ("typed", "outcome"),
    [("y", "allow-once"), ("always", "allow-always"), ("n", "reject-once")],
)
def test_a_permission_is_asked_for(
    sandbox: SandboxDirectory, terminal: list[pexpect.spawn], typed: str, outcome: str
) -> None:
    child = _run(sandbox, terminal, "mock", "permission")
    child.expect_exact("The agent wants to: ")
    child.expect_exact("Allow? ")
    child.sendline("perhaps")
    child.expect_exact("Allow? ")
    child.sendline(typed)
    child.expect_exact(f"Permission outcome: selected {outcome}")
    assert _end(child) == 0


def test_reads_need_no_question_where_writing_does(
    sandbox: SandboxDirectory, terminal: list[pexpect.spawn]
) -> None:
    child = _run(sandbox, terminal, "mock", "permission", "--approve", "reads")
    child.expect_exact("Allow? ")
    child.sendline("n")
    assert _end(child) == 0


@pytest.mark.clause("cli-run-in-a-terminal")
def test_a_question_is_answered_by_number_or_label(
    sandbox: SandboxDirectory, terminal: list[pexpect.spawn]
) -> None:
    child = _run(sandbox, terminal, "mock", "question")
    child.expect_exact("  1. ")
    child.expect_exact("no answer): ")
    child.sendline("1")
    child.expect_exact("You answered: option-a")
    assert _end(child) == 0


@pytest.mark.clause("cli-run-in-a-terminal")
def test_several_answers_go_with_commas(sandbox: SandboxDirectory, terminal: list[pexpect.spawn]) -> None:
    child = _run(sandbox, terminal, "mock", "multi question")
    child.expect_exact("several with commas")
    child.sendline("1, 2")
    child.expect_exact("You answered: option-a, option-b")
    assert _end(child) == 0


@pytest.mark.clause("cli-run-in-a-terminal")
def test_an_empty_line_rejects_a_question(sandbox: SandboxDirectory, terminal: list[pexpect.spawn]) -> None:
    child = _run(sandbox, terminal, "mock", "question")
    child.expect_exact("no answer): ")
    child.sendline("")
    child.expect_exact("You rejected the question.")
    assert _end(child) == 0


@pytest.mark.clause("cli-run-in-a-terminal")
def test_control_c_while_a_question_waits_ends_everything(
    sandbox: SandboxDirectory, terminal: list[pexpect.spawn]
) -> None:
    child = _run(sandbox, terminal, "mock", "question")
    child.expect_exact("no answer): ")
    child.sendintr()
    assert _end(child) == 130
    sandbox.wait_until_quiet()


@pytest.mark.clause("cli-run-in-a-terminal")
def test_words_appear_while_the_agent_still_streams(
    sandbox: SandboxDirectory, terminal: list[pexpect.spawn]
) -> None:
    child = _run(sandbox, terminal, "mock", "stream 3 700")
    child.expect_exact("chunk 1")
    assert child.isalive()
    child.expect_exact("chunk 3")
    assert _end(child) == 0


def test_a_terminal_gets_tables(sandbox: SandboxDirectory, terminal: list[pexpect.spawn]) -> None:
    child = pexpect.spawn(
        PROGRAM[0], ["credentials", "status"], env=sandbox.environment, timeout=30, encoding="utf-8"
    )
    terminal.append(child)
    child.expect(r"agent +credentials +reads")
    assert _end(child) == 0
