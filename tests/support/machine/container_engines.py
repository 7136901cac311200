"""Podman and Docker with a directory of their own for tests, and images without a registry.

The image has nothing but empty directories. Programs and this checkout's environment are mounted into it, or
the self-contained directory of `scripts/distribution/build_bundle.py`.
"""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.polling import wait_until
from tests.support.suite.requirements import SYSTEM_PATH

ROOT = Path(__file__).resolve().parents[3]
EMPTY_IMAGE = "localhost/sandbox-agent-empty:latest"
_DIRECTORIES = (
    "bin",
    "dev",
    "etc",
    "home",
    "lib",
    "lib64",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "sys",
    "tmp",
)
_START_S = 60.0
# crun refuses the mixed control groups of some machines; the limits are no higher than those of this one.
_PODMAN_SETTINGS = """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "{runtime}"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_USER_ID = 65534
_ROOTLESS_STORAGE = """[storage]
driver = "vfs"
runroot = "{place}/run/storage"
graphroot = "{place}/home/storage"
[storage.options.vfs]
ignore_chown_errors = "true"
"""


@dataclass(frozen=True)
class Engine:
    name: str
    """`podman` or `docker`."""
    address: str

    def client(self) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=self.address.removeprefix("unix://"))
        return httpx.Client(transport=transport, base_url="http://engine", timeout=120)

    def load(self, image: str, tar: bytes) -> None:
        """Make an image from the tar of its root directory."""
        repository, _, tag = image.rpartition(":")
        with self.client() as client:
            query = {"fromSrc": "-", "repo": repository, "tag": tag}
            answer = client.post(
                "/images/create", params=query, content=tar, headers={"content-type": "application/x-tar"}
            )
            assert answer.status_code == 200 and "error" not in answer.text, answer.text

    def containers(self) -> list[str]:
        with self.client() as client:
            return [
                entry["Names"][0] for entry in client.get("/containers/json", params={"all": "true"}).json()
            ]

    def remove_all(self) -> None:
        with self.client() as client:
            for name in self.containers():
                client.delete(f"/containers/{name.lstrip('/')}", params={"force": "true"})


def empty_root() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in (*_DIRECTORIES, "usr", "var"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(entry)
        users = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n"
        entry = tarfile.TarInfo("etc/passwd")
        entry.size = len(users)
        archive.addfile(entry, io.BytesIO(users))
    return buffer.getvalue()


def own_programs() -> dict[str, str]:
    """Mounts that give the empty image this machine's programs and this checkout."""
    places = {"/usr", "/lib", "/lib64", "/bin", sys.base_prefix, sys.prefix, str(ROOT / "src")}
    nested = {place for place in places if any(place.startswith(f"{other}/") for other in places)}
    return {place: f"{place}:ro" for place in sorted(places - nested)}


def own_path() -> str:
    return f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin"


@contextmanager
def run_podman(runtime: str = "runc") -> Iterator[Engine]:
    with _directory("podman") as place:
        settings = place / "containers.conf"
        settings.write_text(_PODMAN_SETTINGS.format(runtime=runtime))
        words = [
            "podman",
            "--root",
            str(place / "root"),
            "--runroot",
            str(place / "run"),
            "system",
            "service",
        ]
        address = f"unix://{place}/engine.sock"
        environment = {**os.environ, "CONTAINERS_CONF": str(settings), "PATH": SYSTEM_PATH}
        with _service(
            [*words, "--time", "0", address], environment, Engine("podman", address), place
        ) as engine:
            yield engine


@contextmanager
def run_rootless_podman() -> Iterator[Engine]:
    """Podman of a user other than root, with one id mapped: this machine has no ranges of ids for users."""
    with _directory("rootless") as place:
        (place / "containers.conf").write_text(_PODMAN_SETTINGS.format(runtime="runc"))
        (place / "storage.conf").write_text(_ROOTLESS_STORAGE.format(place=place))
        for name in ("home", "run"):
            (place / name).mkdir(mode=0o700)
        for path in (place, *place.iterdir()):
            os.chown(path, _USER_ID, _USER_ID)
        environment = {
            "PATH": SYSTEM_PATH,
            "HOME": str(place / "home"),
            "XDG_RUNTIME_DIR": str(place / "run"),
            "CONTAINERS_CONF": str(place / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(place / "storage.conf"),
        }
        address = f"unix://{place}/engine.sock"
        words = ["setpriv", f"--reuid={_USER_ID}", f"--regid={_USER_ID}", "--clear-groups"]
        words += ["podman", "system", "service", "--time", "0", address]
        with _service(words, environment, Engine("podman", address), place) as engine:
            yield engine


@contextmanager
def run_docker() -> Iterator[Engine]:
    with _directory("docker") as place:
        address = f"unix://{place}/engine.sock"
        words = [
            "dockerd",
            "--host",
            address,
            "--data-root",
            str(place / "root"),
            "--exec-root",
            str(place / "run"),
        ]
        words += ["--pidfile", str(place / "pid"), "--config-file", str(place / "daemon.json")]
        # A bridge of its own would change the firewall of this machine; the tests use the host's network.
        words += ["--bridge", "none", "--iptables=false", "--ip-forward=false"]
        (place / "daemon.json").write_text("{}")
        environment = {**os.environ, "PATH": SYSTEM_PATH}
        with _service(words, environment, Engine("docker", address), place) as engine:
            yield engine


@contextmanager
def _directory(name: str) -> Iterator[Path]:
    # Not below the directory of a test: its path would be too long for a socket.
    place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir="/var/tmp"))
    try:
        yield place
    finally:
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (target := line.split()[1]).startswith(f"{place}/"):
                subprocess.run(["/bin/umount", "-l", target], check=False)
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _service(words: list[str], environment: dict[str, str], engine: Engine, place: Path) -> Iterator[Engine]:
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=place
        )
    try:

        def answers() -> bool:
            assert process.poll() is None, (place / "log").read_text(errors="replace")[-3000:]
            with socket.socket(socket.AF_UNIX) as probe:
                return probe.connect_ex(engine.address.removeprefix("unix://")) == 0

        wait_until(answers, _START_S, f"{engine.name} answers")
        engine.load(EMPTY_IMAGE, empty_root())
        yield engine
        engine.remove_all()
    finally:
        process.terminate()
        process.wait(30)
