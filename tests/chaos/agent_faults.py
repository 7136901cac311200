"""What agents do wrong: crash, hang, flood, write nonsense, fork, and refuse to go."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from tests.chaos.world import FLOOD, LINE_LIMIT, World


def crash(world: World) -> None:
    server_id = world.instance()
    for _ in range(world.random.randint(0, 3)):
        world.ask(server_id, "test/silent")
    world.ask(server_id, "test/exit", {"code": world.random.randint(0, 5), "stderr": "last words\n"})
    world.agent_ended(server_id)


def die_of_a_signal(world: World) -> None:
    server_id = world.instance()
    number = world.random.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGABRT])
    world.ask(server_id, "test/kill_self", {"signal": int(number)})
    world.agent_ended(server_id)


def be_killed_from_outside(world: World) -> None:
    server_id = world.instance()
    world.ask(server_id, "test/silent")
    row = world.acp.entry(server_id)
    if row is not None and row["pid"]:
        with suppress(ProcessLookupError):
            os.kill(row["pid"], signal.SIGKILL)
    world.agent_ended(server_id)


def stand_still(world: World) -> None:
    """Stopped for a moment, as by a debugger or a machine that swaps."""
    server_id = world.instance()
    pid = (world.acp.entry(server_id) or {}).get("pid")
    if pid:
        os.kill(pid, signal.SIGSTOP)
        world.ask(server_id, "test/echo", {"while": "stopped"})
        os.kill(pid, signal.SIGCONT)


def stay_silent(world: World) -> None:
    world.ask(world.instance(), "test/silent", wait_s=1)


def flood(world: World) -> None:
    server_id = world.instance()
    log = world.followed(server_id)
    base = max(log.floods, default=0) + 1
    count = world.random.randint(1, 4000)
    params = {"count": count, "first": base * FLOOD + 1, "size": world.random.choice([0, 50, 800])}
    if world.call(server_id, "test/flood", params) is not None:
        log.floods[base] = count


def write_garbage(world: World) -> None:
    server_id = world.instance()
    noise = world.random.randbytes(world.random.randint(1, 3000)).replace(b"\n", b"?") + b"\n"
    world.ask(server_id, "test/write", {"hex": noise.hex()})


def write_in_pieces(world: World) -> None:
    server_id = world.instance()
    line = b'{"jsonrpc":"2.0","method":"test/late","params":{"pad":"' + b"z" * 500 + b'"}}\n'
    at = world.random.randint(1, len(line) - 1)
    # Notifications: an answer written between the two halves would be part of the line.
    world.acp.post(server_id, _write(line[:at]))
    world.acp.post(server_id, _write(line[at:]))


def _write(data: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":"test/write","params":{"hex":"%s"}}' % data.hex().encode()


def write_a_huge_line(world: World) -> None:
    size = world.random.choice([LINE_LIMIT // 2, LINE_LIMIT + 1000, 2 * LINE_LIMIT])
    world.ask(world.instance(), "test/big_line", {"bytes": size, "as_answer": world.random.random() < 0.5})


def end_in_the_middle_of_a_line(world: World) -> None:
    server_id = world.instance()
    world.ask(server_id, "test/half_line_exit", {"code": 1})
    world.agent_ended(server_id)


def leave_children(world: World) -> None:
    server_id = world.instance()
    how = world.random.choice(["fork_plain", "fork_setsid", "double_fork", "double_fork_clean_env"])
    stubborn = {"ignore_signals": world.random.random() < 0.5, "hold_stdout": world.random.random() < 0.3}
    child = world.call(server_id, f"test/{how}", stubborn)
    if child is not None:
        world.children.setdefault(server_id, []).append(child)


def ignore_signals(world: World) -> None:
    world.ask(world.instance(), "test/ignore_signals")


def stop_reading(world: World) -> None:
    server_id = world.instance()
    world.ask(server_id, "test/stop_reading")
    world.ask(server_id, "test/echo", {"pad": "x" * 200_000}, wait_s=1)


def close_stdout(world: World) -> None:
    """The end of the agent, unless a child of its still holds the pipe; then it is just silent."""
    world.ask(world.instance(), "test/close_stdout")


def fill_stderr(world: World) -> None:
    world.ask(world.instance(), "test/stderr", {"bytes": world.random.randint(1, 3_000_000)})


FAULTS = [
    crash,
    die_of_a_signal,
    be_killed_from_outside,
    stand_still,
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
