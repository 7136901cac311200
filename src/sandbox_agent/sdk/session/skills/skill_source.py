"""Where skills come from: the `sources` of a skills entry, checked field by field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.errors import SkillSourceError

GITHUB_URL = "https://github.com/"
_GITHUB_NAME = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_REMOTE_TYPES = ("github", "git")


@dataclass(frozen=True, slots=True)
class SkillSource:
    """One source of skills."""

    type: str
    """`local`: a path in the sandbox; `git`: a clone URL; `github`: `owner/repository`."""
    source: str
    skills: tuple[str, ...] | None = None
    """The skills to use; None for all."""
    ref: str | None = None
    """Branch, tag or commit of a repository."""
    subpath: str | None = None
    """The directory inside the source to search."""
    trusted: bool = True
    """Given by the caller, not read from a file in the sandbox: it may use the caller's own credentials."""

    @property
    def url(self) -> str:
        """The clone URL of a repository."""
        if self.type == "github" and _GITHUB_NAME.fullmatch(self.source):
            return f"{GITHUB_URL}{self.source}"
        return self.source


def parse_sources(entry: Any, *, trusted: bool) -> list[SkillSource]:
    """The sources of an entry `{"sources": [...]}`; raises `SkillSourceError` that names the field."""
    sources = entry.get("sources") if isinstance(entry, Mapping) else None
    if not isinstance(sources, Iterable) or isinstance(sources, str | Mapping):
        raise SkillSourceError(str(entry)[:100], 'skills must have the form {"sources": [...]}')
    return [_parse(source, trusted) for source in sources]


def _parse(raw: Any, trusted: bool) -> SkillSource:
    if not isinstance(raw, Mapping):
        raise SkillSourceError(str(raw)[:100], "a source is an object with `type` and `source`")
    named = str(raw.get("source") or raw)[:200]
    kind, source = _text(raw, "type", named), _text(raw, "source", named)
    if kind is None or source is None:
        raise SkillSourceError(named, "`type` and `source` are required")
    if kind not in ("local", *_REMOTE_TYPES):
        raise SkillSourceError(named, f"type {kind!r} is not known; known are local, git, github")
    if kind == "github" and not _GITHUB_NAME.fullmatch(source) and not source.startswith(GITHUB_URL):
        raise SkillSourceError(named, "a github source is `owner/repository`")
    ref, subpath = _text(raw, "ref", named), _text(raw, "subpath", named)
    if kind in _REMOTE_TYPES and (source.startswith("-") or (ref or "").startswith("-")):
        raise SkillSourceError(named, "neither `source` nor `ref` may begin with a hyphen")
    if kind == "local" and ref is not None:
        raise SkillSourceError(named, "a local source has no `ref`")
    if subpath is not None and (subpath.startswith("/") or ".." in subpath.split("/")):
        raise SkillSourceError(named, "`subpath` must stay inside the source")
    return SkillSource(kind, source, _names(raw.get("skills"), named), ref, subpath, trusted)


def _text(raw: Mapping[str, Any], field: str, named: str) -> str | None:
    value = raw.get(field)
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise SkillSourceError(named, f"`{field}` must be a text")
    return value


def _names(raw: Any, named: str) -> tuple[str, ...] | None:
    if raw is None:
        return None
    if isinstance(raw, str) or not isinstance(raw, Iterable):
        raise SkillSourceError(named, "`skills` must be a list of names")
    return tuple(str(name) for name in raw)
