"""A real Postgres server for the tests: initdb into a temporary directory, unix socket only.

The server refuses to run as root, so root starts it as another user.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_LIMIT_S = 60
STOP_LIMIT_S = 30


def find_binaries() -> Path | None:
    """The directory with initdb and postgres, or None."""
    on_path = shutil.which("initdb")
    candidates = [Path(on_path).resolve().parent] if on_path else []
    if shutil.which("pg_config"):
        found = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)  # noqa: S607 from PATH on purpose
        candidates.append(Path(found.stdout.strip()))
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in candidates if (place / "initdb").exists()), None)


@contextmanager
def running_postgres(binaries: Path) -> Iterator[str]:
    """A running server; gives its connection string."""
    user = _unprivileged_user()
    home = Path(tempfile.mkdtemp(prefix="sa-pg-"))
    data = home / "data"
    if user is not None:
        os.chown(home, user.pw_uid, user.pw_gid)
    as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    environment = {**os.environ, "HOME": str(home), "LC_ALL": "C.UTF-8"}
    log = open(home / "log", "wb")
    server = None
    try:
        subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
            check=True, capture_output=True, cwd=home, env=environment, timeout=START_LIMIT_S, **as_user,
        )  # fmt: skip
        settings = ["listen_addresses=", "fsync=off", "max_connections=40", "shared_buffers=16MB"]
        options = [part for setting in settings for part in ("-c", setting)]
        server = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-k", home, *options],
            stdout=log, stderr=log, cwd=home, env=environment, start_new_session=True, **as_user,
        )  # fmt: skip
        dsn = f"host={home} user=postgres dbname=postgres"
        _wait_until_ready(binaries, dsn, server, home / "log")
        yield dsn
    finally:
        if server is not None:
            _stop(server)
        log.close()
        shutil.rmtree(home)


def _unprivileged_user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def _wait_until_ready(binaries: Path, dsn: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    asked = [binaries / "pg_isready", "-q", "-t", "5", "-d", dsn]
    while subprocess.run(asked, check=False).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"Postgres did not start:\n{log.read_text()}")
        time.sleep(0.05)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.send_signal(signal.SIGINT)  # fast shutdown
    try:
        server.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
