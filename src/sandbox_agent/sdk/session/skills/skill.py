"""One skill: the files of a folder with a `SKILL.md`, in memory."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_agent.sdk.errors import SkillSourceError

SKILL_FILE = "SKILL.md"
# A skill is a few texts and scripts; the limits keep a wrong path from filling the memory.
MAX_FILES = 2000
MAX_BYTES = 32 * 1024 * 1024
# Never part of a skill: version control, and files that Python writes when a script of the skill runs.
_IGNORED = frozenset({".git", "__pycache__"})


@dataclass(frozen=True, slots=True)
class SkillFile:
    """The content of a file, and whether it can be executed."""

    content: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill to be installed under its name."""

    name: str
    files: Mapping[str, SkillFile]
    """By path below the folder of the skill."""
    path: str | None = None
    """Where it lies in the sandbox, if it comes from there."""

    @property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file."""
        return {path: hashlib.sha256(file.content).hexdigest() for path, file in sorted(self.files.items())}


def read_folder(folder: Path) -> dict[str, SkillFile]:
    """The files below a folder of this machine; a link is followed only inside the folder.

    Raises `SkillSourceError` for a link that leads out, and for a folder that is too large.
    """
    files: dict[str, SkillFile] = {}
    root, size = folder.resolve(), 0
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if _IGNORED.intersection(relative.parts) or not (path.is_symlink() or path.is_file()):
            continue
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise SkillSourceError(str(relative), "the link leads out of the skill")
        if not path.is_file():
            continue
        size += path.stat().st_size
        if size > MAX_BYTES or len(files) >= MAX_FILES:
            raise SkillSourceError(
                folder.name, f"a skill has at most {MAX_FILES} files and {MAX_BYTES >> 20} MiB"
            )
        executable = bool(path.stat().st_mode & 0o111)
        files[relative.as_posix()] = SkillFile(path.read_bytes(), executable)
    return files


def pack(skills: Iterable[Skill]) -> bytes:
    """A tar with one folder per skill."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for skill in skills:
            for path, file in skill.files.items():
                member = tarfile.TarInfo(f"{skill.name}/{path}")
                member.size = len(file.content)
                member.mode = 0o755 if file.executable else 0o644
                tar.addfile(member, io.BytesIO(file.content))
    return buffer.getvalue()
