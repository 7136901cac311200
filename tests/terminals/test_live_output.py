"""The newest output of a process as bytes: what is kept, and for how long."""

from __future__ import annotations

from sandbox_agent.terminals.live_output import LiveOutput

PIECE = bytes(32 * 1024)


def test_output_is_kept_while_a_socket_is_open() -> None:
    live = LiveOutput()
    live.add(1, b"unread")
    live.attach()
    for number, data in ((2, b"two"), (3, b""), (4, b"four")):
        live.add(number, data)
    assert live.between(2, 4) == b"twofour" and live.between(4, 4) == b"four"
    assert live.between(1, 4) is None and live.between(2, 5) is None
    live.attach()
    live.detach()
    assert live.between(2, 4) == b"twofour"
    live.detach()
    assert live.between(2, 4) is None


def test_only_the_newest_output_is_kept() -> None:
    live = LiveOutput()
    live.attach()
    for number in range(1, 101):
        live.add(number, PIECE)
    kept = [number for number in range(1, 101) if live.between(number, number) is not None]
    assert kept == list(range(85, 101))
    assert live.between(84, 100) is None and live.between(85, 100) == PIECE * 16
