"""Asks for health again and again on one connection; prints the longest time of an answer in milliseconds.

A process of its own, so that the test does not wait for the interpreter lock while it measures. It ends when
its stdin ends.
"""

from __future__ import annotations

import select
import socket
import sys
import time

REQUEST = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
EVERY_S = 0.001


def main(port: int) -> None:
    longest = 0.0
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print("ready", flush=True)
        while not select.select([sys.stdin], [], [], EVERY_S)[0]:
            began = time.perf_counter()
            sock.sendall(REQUEST)
            answer = b""
            while not answer.endswith(b"}"):
                answer += sock.recv(4096)
            longest = max(longest, time.perf_counter() - began)
    print(longest * 1000)


if __name__ == "__main__":
    main(int(sys.argv[1]))
