"""What a rollout takes from its task: the prompt, files and commands, as templates or as functions.

A task is a text or a mapping. A template may contain `{name}` for a field of the task; other braces stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Task = str | Mapping[str, Any]
Template = str | Callable[[Any], str]
Templates = Sequence[Template] | Callable[[Any], Sequence[str]]

_FIELD = re.compile(r"\{(\w+)\}")


def fill(template: Template, task: Task) -> str:
    """The text of a template for one task; a function gets the whole task."""
    if callable(template):
        return template(task)
    if isinstance(task, str):
        return template.replace("{task}", task)
    return _FIELD.sub(lambda found: str(task[found[1]]) if found[1] in task else found[0], template)


def fill_all(templates: Templates, task: Task) -> list[str]:
    if callable(templates):
        return list(templates(task))
    return [fill(template, task) for template in templates]


def steps_of(prompt: Template | Templates | None, task: Task) -> list[str]:
    """The prompts of a rollout: those of `prompt`, else of the task itself.

    Raises:
        ValueError: the task has no prompt.
    """
    if isinstance(prompt, str):
        steps = [fill(prompt, task)]
    elif callable(prompt):
        made = prompt(task)
        steps = [made] if isinstance(made, str) else list(made)
    elif prompt is not None:
        steps = fill_all(prompt, task)
    elif isinstance(task, str):
        steps = [task]
    else:
        given = (task.get("steps") or task.get("prompt")) if isinstance(task, Mapping) else None
        steps = [given] if isinstance(given, str) else list(given or ())
    if not steps or not all(isinstance(step, str) and step.strip() for step in steps):
        raise ValueError("the task has no prompt: it is a text, or a mapping with `prompt` or `steps`")
    return steps
