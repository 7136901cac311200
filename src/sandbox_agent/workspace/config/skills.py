"""Skills entries: where skills come from. The server stores the entries and fetches nothing."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from sandbox_agent.workspace.config.entry_decoder import json_object, to_entry, without_nulls


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
    """All entries of a directory; `invalid` maps those that cannot be decoded to the reason."""

    entries: dict[str, SkillsConfig]
    invalid: dict[str, str] | UnsetType = UNSET


def parse(entry: bytes | msgspec.Raw) -> SkillsConfig:
    """One entry as it is stored and returned.

    Raises:
        InvalidRequest: not JSON, or a field that is wrong; the message names it.
    """
    fields = json_object(entry)
    sources = fields.get("sources")
    if isinstance(sources, list):
        fields["sources"] = [without_nulls(source) for source in sources]
    return to_entry(fields, SkillsConfig)
