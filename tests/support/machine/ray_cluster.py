"""A Ray cluster of several machines on this one: a network namespace for each node, joined by a bridge.

Ray listens on all addresses and gives code execution to everything that reaches them, so no node runs outside
a namespace. The driver of a test runs in the namespace of the head.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.polling import wait_until

MARK_VARIABLE = "RAY_CLUSTER_TEST"
_START_S = 180.0


@dataclass
class RayCluster:
    mark: str
    place: Path
    head: str = ""
    nodes: list[str] = field(default_factory=list)
    services: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            MARK_VARIABLE: self.mark,
            "RAY_ADDRESS": "10.199.0.1:6379",
            "RAY_raylet_start_wait_time_s": "120",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_DISABLE_IMPORT_WARNING": "1",
            "HOME": str(self.place),
        }

    def in_head(self, words: list[str]) -> list[str]:
        """A command in the namespace of the head, where drivers run."""
        return ["ip", "netns", "exec", self.head, *words]

    def kill_node(self, name: str) -> None:
        """SIGKILL of the raylet of a node, as if its machine had failed."""
        for pid in self.processes():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/raylet") and f"--node_ip_address={self.address(name)}".encode() in words:
                os.kill(pid, signal.SIGKILL)

    def address(self, name: str) -> str:
        return f"10.199.0.{[self.head, *self.nodes].index(name) + 1}"

    def processes(self) -> list[int]:
        """All processes of the cluster and its drivers that live."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if f"{MARK_VARIABLE}={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def command_lines(self) -> list[str]:
        lines = []
        for pid in self.processes():
            try:
                lines.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return lines


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


def _start(cluster: RayCluster, namespace: str, arguments: list[str]) -> None:
    ray = str(Path(sys.executable).with_name("ray"))
    words = ["ip", "netns", "exec", namespace, ray, "start", "--disable-usage-stats", *arguments]
    words += ["--object-store-memory", "80000000", "--temp-dir", str(cluster.place / namespace[-6:])]
    done = subprocess.run(words, env=cluster.environment, capture_output=True, text=True, timeout=_START_S)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def ray_cluster(workers: int, cpus: int) -> Iterator[RayCluster]:
    """A head without processors for tasks, and `workers` nodes with `cpus` each."""
    mark = secrets.token_hex(4)
    place = Path(tempfile.mkdtemp(prefix="ray-", dir="/var/tmp"))
    cluster = RayCluster(
        mark, place, f"ray{mark}-0", [f"ray{mark}-{number + 1}" for number in range(workers)]
    )
    names = [cluster.head, *cluster.nodes]
    try:
        for name in names:
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        _run("ip", "-n", cluster.head, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", cluster.head, "addr", "add", "10.199.0.1/24", "dev", "bridge")
        _run("ip", "-n", cluster.head, "link", "set", "bridge", "up")
        for number, name in enumerate(cluster.nodes, 1):
            _run(
                "ip",
                "-n",
                cluster.head,
                "link",
                "add",
                f"v{number}",
                "type",
                "veth",
                "peer",
                "eth0",
                "netns",
                name,
            )
            _run("ip", "-n", cluster.head, "link", "set", f"v{number}", "master", "bridge", "up")
            _run("ip", "-n", name, "addr", "add", f"10.199.0.{number + 1}/24", "dev", "eth0")
            _run("ip", "-n", name, "link", "set", "eth0", "up")
        head = ["--head", "--node-ip-address=10.199.0.1", "--port=6379", "--num-cpus=0"]
        _start(cluster, cluster.head, [*head, "--include-dashboard=false"])
        for number, name in enumerate(cluster.nodes, 1):
            worker = ["--address=10.199.0.1:6379", f"--node-ip-address=10.199.0.{number + 1}"]
            _start(cluster, name, [*worker, f"--num-cpus={cpus}"])
        yield cluster
    finally:
        for _ in range(3):
            for pid in cluster.processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        wait_until(lambda: not cluster.processes(), 30, "the end of the cluster")
        for name in names:
            subprocess.run(["/bin/ip", "netns", "delete", name], check=False, capture_output=True)
        shutil.rmtree(place, ignore_errors=True)
