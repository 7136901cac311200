"""Many instances that write all the time, two readers each: every reader gets every event in order."""

from __future__ import annotations

import re
import selectors
import sys
import time

import pytest

from tests.support.clients.raw_http import Connection
from tests.support.server_process import ServerProcess, place_launcher

PER_SECOND = 50
READERS_EACH = 2
_NUMBER = re.compile(rb"\nid: (\d+)\n")
# Writes at a steady pace, whatever the delay of a single message.
_AGENT = """#!{python} -IS
import sys, time
sys.stdin.readline()
began = time.monotonic()
for number in range({count}):
    time.sleep(max(0, began + number / {per_second} - time.monotonic()))
    sys.stdout.write('{{"jsonrpc":"2.0","method":"a","params":{{"number":%d}}}}\\n' % number)
    sys.stdout.flush()
sys.stdin.read()
"""


class Reader:
    """Counts the events of a stream, and checks that their numbers follow each other."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.last = 0
        self._rest = b""

    def read(self) -> None:
        data = self.connection.socket.recv(1 << 20)
        assert data, f"the stream ended after event {self.last}"
        data = self._rest + data
        end = data.rfind(b"\n\n") + 1
        for number in _NUMBER.findall(data, 0, end):
            assert int(number) == self.last + 1
            self.last += 1
        self._rest = data[end:] if end else data


@pytest.mark.serial
@pytest.mark.timeout(300)
@pytest.mark.clause("promise-A")
@pytest.mark.parametrize(("instances", "seconds"), [(10, 2), pytest.param(200, 60, marks=pytest.mark.full)])
def test_every_reader_gets_every_event(start_server, instances: int, seconds: int) -> None:
    server: ServerProcess = start_server()
    count = PER_SECOND * seconds
    script = _AGENT.format(python=sys.executable, count=count, per_second=PER_SECOND)
    place_launcher(server.data_home, "pi", script)
    names = [f"x{number}" for number in range(instances)]
    for name in names:
        server.acp.notify(name, "go", agent="pi")
    readers = []
    with selectors.DefaultSelector() as selector:
        try:
            for name in names * READERS_EACH:
                connection = server.client.connect(60)
                connection.send(server.client.build("GET", server.acp.path(name)))
                reader = Reader(connection)
                readers.append(reader)
                selector.register(connection.socket, selectors.EVENT_READ, reader)
            deadline = time.monotonic() + 3 * seconds + 60
            while any(reader.last < count for reader in readers):
                assert time.monotonic() < deadline, sorted(reader.last for reader in readers)[:5]
                for key, _ in selector.select(1):
                    key.data.read()
        finally:
            for reader in readers:
                reader.connection.close()
    assert {reader.last for reader in readers} == {count}
