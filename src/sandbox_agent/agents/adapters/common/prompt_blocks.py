"""The blocks of a prompt, reduced to two forms: text, which all programs accept, and images."""

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
class PromptText:
    text: str


@dataclass(frozen=True)
class PromptImage:
    mime_type: str
    data: str
    """base64"""


PromptPart = PromptText | PromptImage


def read_prompt(blocks: Sequence[Block]) -> list[PromptPart]:
    """Raises a `RequestError` for blocks that no program accepts: audio and binary resources."""
    return [_read(block) for block in blocks]


def as_text(parts: Sequence[PromptPart], agent: str) -> str:
    """All parts as one text, for programs that accept no images."""
    if any(isinstance(part, PromptImage) for part in parts):
        raise adapter_errors.invalid_params(f"{agent} accepts no images here")
    return "\n\n".join(part.text for part in parts if isinstance(part, PromptText))


def _read(block: Block) -> PromptPart:
    if isinstance(block, TextContentBlock):
        return PromptText(block.text)
    if isinstance(block, ImageContentBlock):
        return PromptImage(block.mime_type, block.data)
    if isinstance(block, ResourceContentBlock):
        return PromptText(f"[{block.name}]({block.uri})")
    if isinstance(block, EmbeddedResourceContentBlock) and isinstance(block.resource, TextResourceContents):
        return PromptText(f'<context ref="{block.resource.uri}">\n{block.resource.text}\n</context>')
    raise adapter_errors.invalid_params(f"a prompt block of type {block.type} cannot be passed on")
