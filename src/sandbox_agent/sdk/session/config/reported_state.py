"""What an agent reports about a session: the fields of the session's record that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox_agent.sdk.session.config.config_options import (
    models_option,
    option_by_category,
    parse_options,
    v1_options,
    with_current_mode,
    with_models,
)
from sandbox_agent.sdk.stores import SessionRecord


def reported_by_update(record: SessionRecord, update: Any) -> dict[str, Any]:
    """The changes of the record by a `session/update`."""
    if not isinstance(update, Mapping):
        return {}
    kind = update.get("sessionUpdate")
    if kind == "config_option_update":
        return reported_options(record, update)
    if kind == "current_mode_update" and isinstance(mode := update.get("currentModeId"), str):
        return {"modes": with_current_mode(record.modes, mode)}
    if kind == "session_info_update" and isinstance(title := update.get("title"), str):
        return {"title": record.title or title}
    return {}


def reported_options(record: SessionRecord, holder: Any) -> dict[str, Any]:
    """The changes of the record by the options, models and modes in an answer or update."""
    if not isinstance(holder, Mapping):
        return {}
    changes: dict[str, Any] = {}
    if isinstance(options := v1_options(holder.get("configOptions")), list):
        of_agent = option_by_category(parse_options(options), "model")
        kept = [] if of_agent else models_option(record.config_options)
        changes["config_options"] = [*options, *kept]
    known = replace(record, **changes).config_options
    if (offered := with_models(known, holder.get("models"))) is not None:
        changes["config_options"] = offered
    if isinstance(modes := holder.get("modes"), Mapping):
        changes["modes"] = dict(modes)
    return changes
