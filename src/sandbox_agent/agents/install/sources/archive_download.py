"""Download an agent that is distributed as an archive or as a single program, and unpack it.

The checksum is compared before anything is unpacked, and no member of the archive can be written outside the
folder. Only https is accepted, except from loopback addresses.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from sandbox_agent.agents.install.command_runner import CommandFailed

_CONNECT_LIMIT_S = 10
_SILENCE_LIMIT_S = 60
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def download_and_unpack(
    url: str, command: str, sha256: str | None, folder: Path, on_bytes: Callable[[int, int | None], None]
) -> Path:
    """Download `url`, unpack it into `folder` and return the program `command`. Blocks: run it in a thread.

    Raises `CommandFailed` with the reason.
    """
    program = (folder / command).resolve()
    if not program.is_relative_to(folder.resolve()):
        raise CommandFailed(f"the registry's command {command} is outside its archive")
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise CommandFailed(f"{url} is not https; refused")
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / ".download"
    digest = _fetch(url, archive, on_bytes)
    if sha256 is not None and digest != sha256.lower():
        raise CommandFailed(f"{url} has the sha256 {digest}, the registry promised {sha256}")
    try:
        _unpack(archive, parts.path, folder, program)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise CommandFailed(f"{url} cannot be unpacked: {error}") from error
    finally:
        archive.unlink(missing_ok=True)
    if not program.is_file():
        raise CommandFailed(f"{url} does not contain {command}")
    program.chmod(0o755)
    return program


def _fetch(url: str, target: Path, on_bytes: Callable[[int, int | None], None]) -> str:
    # Imported here: httpx and TLS take tens of milliseconds, and few agents are archives.
    import httpx

    digest = hashlib.sha256()
    limits = httpx.Timeout(_SILENCE_LIMIT_S, connect=_CONNECT_LIMIT_S)
    try:
        with httpx.stream("GET", url, timeout=limits, follow_redirects=True) as response:
            response.raise_for_status()
            length = response.headers.get("content-length")
            received = 0
            with target.open("wb") as file:
                for chunk in response.iter_bytes(1 << 18):
                    file.write(chunk)
                    digest.update(chunk)
                    received += len(chunk)
                    on_bytes(received, int(length) if length else None)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise CommandFailed(f"{url} cannot be fetched: {error}") from error
    return digest.hexdigest()


def _unpack(archive: Path, name: str, folder: Path, program: Path) -> None:
    if name.endswith((".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".tar")):
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    elif name.endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)  # noqa: S202 - zipfile never writes outside the folder
    else:
        program.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(archive, program)
