from __future__ import annotations

from sandbox_agent.bridge import client_log
from sandbox_agent.bridge.client_log import ClientLog


def numbers(log: ClientLog, after: int) -> list[int]:
    return [message.number for message in log.after(after)]


def test_messages_are_numbered_from_one_with_their_place_and_time() -> None:
    log = ClientLog()
    log.add(0, 1_500_000_000, b"{}")
    log.add(7, 2_000_000_000, b"[]")
    assert [(m.number, m.after, m.time_ms, m.body) for m in log.after(0)] == [
        (1, 0, 1500, b"{}"),
        (2, 7, 2000, b"[]"),
    ]
    assert (numbers(log, 1), numbers(log, 2), numbers(log, 99)) == ([2], [], [])


def test_the_oldest_messages_go_when_there_are_too_many_or_too_long_ones() -> None:
    log = ClientLog()
    for _ in range(client_log.MAX_MESSAGES + 5):
        log.add(0, 0, b"{}")
    assert (log.oldest, log.last) == (6, client_log.MAX_MESSAGES + 5)
    assert numbers(log, 0)[0] == 6
    for _ in range(client_log.MAX_BYTES // client_log.MAX_MESSAGE_BYTES + 1):
        log.add(0, 0, b"x" * client_log.MAX_MESSAGE_BYTES)
    assert len(numbers(log, 0)) == client_log.MAX_BYTES // client_log.MAX_MESSAGE_BYTES


def test_the_text_of_a_long_message_is_not_kept() -> None:
    log = ClientLog()
    log.add(0, 0, b"x" * (client_log.MAX_MESSAGE_BYTES + 1))
    assert [(message.number, message.body) for message in log.after(0)] == [(1, b"null")]


def test_waiting_readers_are_called_once() -> None:
    log = ClientLog()
    called: list[int] = []
    log.waiting[lambda: called.append(1)] = None
    log.add(0, 0, b"{}")
    log.add(0, 0, b"{}")
    assert called == [1]
