"""The blocks of a prompt in the two forms every native program understands: text and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from sandbox_agent.agents.adapters.common import adapter_errors

Block = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Picture:
    mime_type: str
    data: str
    """base64"""


def read_prompt(blocks: Sequence[Block]) -> list[Text | Picture]:
    """Raises a `RequestError` for what no native program takes: sound and binary resources."""
    return [_read(block) for block in blocks]


def as_text(parts: Sequence[Text | Picture], agent: str) -> str:
    """All parts as one text, for programs without pictures."""
    if any(isinstance(part, Picture) for part in parts):
        raise adapter_errors.invalid(f"{agent} takes no pictures here")
    return "\n\n".join(part.text for part in parts if isinstance(part, Text))


def _read(block: Block) -> Text | Picture:
    if isinstance(block, TextContentBlock):
        return Text(block.text)
    if isinstance(block, ImageContentBlock):
        return Picture(block.mime_type, block.data)
    if isinstance(block, ResourceContentBlock):
        return Text(f"[{block.name}]({block.uri})")
    if isinstance(block, EmbeddedResourceContentBlock) and isinstance(block.resource, TextResourceContents):
        return Text(f'<context ref="{block.resource.uri}">\n{block.resource.text}\n</context>')
    raise adapter_errors.invalid(f"a prompt block of type {block.type} cannot be passed on")
