"""A file system that is soon full. Mounting one needs root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def mounted_disk(place: Path, megabytes: int = 1) -> Iterator[Path]:
    """An empty file system of this size at `place`."""
    place.mkdir(parents=True)
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["/bin/umount", "-l", str(place)], check=True)
