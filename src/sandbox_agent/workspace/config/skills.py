"""The shape of one skills entry: where skills come from. The server stores it and fetches nothing."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from sandbox_agent.workspace.config.entry import converted, json_object, without_nulls


class SkillSource(msgspec.Struct, kw_only=True):
    """One source; `type` is `github`, `git` or `local` by convention, any text is kept."""

    type: str
    source: str
    skills: list[str] | UnsetType = UNSET
    ref: str | UnsetType = UNSET
    subpath: str | UnsetType = UNSET


class SkillsConfig(msgspec.Struct):
    sources: list[SkillSource]


class SkillsEntries(msgspec.Struct):
    """All entries of a directory; those that cannot be understood are named with the reason."""

    entries: dict[str, SkillsConfig]
    invalid: dict[str, str] | UnsetType = UNSET


def normalised(entry: bytes | msgspec.Raw) -> bytes:
    """One entry as it is stored and returned.

    Raises:
        InvalidRequest: not JSON, or a field that is wrong; the message names it.
    """
    fields = json_object(entry)
    sources = fields.get("sources")
    if isinstance(sources, list):
        fields["sources"] = [without_nulls(source) for source in sources]
    return converted(fields, SkillsConfig)
