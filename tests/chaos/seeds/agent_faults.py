"""Faults of agents: crashes, hangs, floods, malformed output, orphaned children, ignored signals."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from tests.chaos.seeds.chaos_run import FLOOD, LINE_LIMIT, ChaosRun


def crash(run: ChaosRun) -> None:
    server_id = run.instance()
    for _ in range(run.random.randint(0, 3)):
        run.ask(server_id, "test/silent")
    run.ask(server_id, "test/exit", {"code": run.random.randint(0, 5), "stderr": "last words\n"})
    run.agent_ended(server_id)


def die_by_signal(run: ChaosRun) -> None:
    server_id = run.instance()
    number = run.random.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT])
    run.ask(server_id, "test/kill_self", {"signal": int(number)})
    run.agent_ended(server_id)


def be_killed_from_outside(run: ChaosRun) -> None:
    server_id = run.instance()
    run.ask(server_id, "test/silent")
    row = run.acp.entry(server_id)
    if row is not None and row["pid"]:
        with suppress(ProcessLookupError):
            os.kill(row["pid"], signal.SIGKILL)
    run.agent_ended(server_id)


def be_stopped_for_a_moment(run: ChaosRun) -> None:
    """Stopped by SIGSTOP, as by a debugger or a machine that swaps."""
    server_id = run.instance()
    pid = (run.acp.entry(server_id) or {}).get("pid")
    if pid:
        os.kill(pid, signal.SIGSTOP)
        run.ask(server_id, "test/echo", {"while": "stopped"})
        os.kill(pid, signal.SIGCONT)


def stay_silent(run: ChaosRun) -> None:
    run.ask(run.instance(), "test/silent", wait_s=1)


def flood(run: ChaosRun) -> None:
    server_id = run.instance()
    log = run.read_log(server_id)
    base = max(log.floods, default=0) + 1
    count = run.random.randint(1, 4000)
    params = {"count": count, "first": base * FLOOD + 1, "size": run.random.choice([0, 50, 800])}
    if run.call(server_id, "test/flood", params) is not None:
        log.floods[base] = count


def write_garbage(run: ChaosRun) -> None:
    server_id = run.instance()
    noise = run.random.randbytes(run.random.randint(1, 3000)).replace(b"\n", b"?") + b"\n"
    run.ask(server_id, "test/write", {"hex": noise.hex()})


def write_in_pieces(run: ChaosRun) -> None:
    server_id = run.instance()
    line = b'{"jsonrpc":"2.0","method":"test/late","params":{"pad":"' + b"z" * 500 + b'"}}\n'
    at = run.random.randint(1, len(line) - 1)
    # Notifications: an answer written between the two halves would be part of the line.
    run.acp.post(server_id, _write(line[:at]))
    run.acp.post(server_id, _write(line[at:]))


def _write(data: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"test/write","params":{"hex":"%s"}}' % data.hex().encode()


def write_a_huge_line(run: ChaosRun) -> None:
    size = run.random.choice([LINE_LIMIT // 2, LINE_LIMIT + 1000, 2 * LINE_LIMIT])
    run.ask(run.instance(), "test/big_line", {"bytes": size, "as_answer": run.random.random() < 0.5})


def end_in_the_middle_of_a_line(run: ChaosRun) -> None:
    server_id = run.instance()
    run.ask(server_id, "test/half_line_exit", {"code": 1})
    run.agent_ended(server_id)


def leave_children(run: ChaosRun) -> None:
    server_id = run.instance()
    how = run.random.choice(["fork_plain", "fork_setsid", "double_fork", "double_fork_clean_env"])
    stubborn = {"ignore_signals": run.random.random() < 0.5, "hold_stdout": run.random.random() < 0.3}
    child = run.call(server_id, f"test/{how}", stubborn)
    if child is not None:
        run.children.setdefault(server_id, []).append(child)


def ignore_signals(run: ChaosRun) -> None:
    run.ask(run.instance(), "test/ignore_signals")


def stop_reading(run: ChaosRun) -> None:
    server_id = run.instance()
    run.ask(server_id, "test/stop_reading")
    run.ask(server_id, "test/echo", {"pad": "x" * 200_000}, wait_s=1)


def close_stdout(run: ChaosRun) -> None:
    """Ends the agent, unless a child still holds the pipe; then the agent is silent."""
    run.ask(run.instance(), "test/close_stdout")


def fill_stderr(run: ChaosRun) -> None:
    run.ask(run.instance(), "test/stderr", {"bytes": run.random.randint(1, 3_000_000)})


FAULTS = [
    crash,
    die_by_signal,
    be_killed_from_outside,
    be_stopped_for_a_moment,
    stay_silent,
    flood,
    flood,
    write_garbage,
    write_in_pieces,
    write_a_huge_line,
    end_in_the_middle_of_a_line,
    leave_children,
    leave_children,
    ignore_signals,
    stop_reading,
    close_stdout,
    fill_stderr,
]
