"""A prompt as the caller gave it, and its content blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.turns.content_blocks import (
    AttachmentLike,
    Block,
    Prompt,
    as_attachment,
    attachment_block,
    prompt_blocks,
)


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A prompt and how to send it."""

    blocks: list[Block]
    attachments: Sequence[AttachmentLike] = ()
    timeout_s: float | None = None
    respond_async: bool = False

    async def content(self, files: AsyncFiles, directory: str) -> list[Block]:
        """The blocks of the prompt and of its attachments, whose paths begin at `directory`."""
        content = list(self.blocks)
        for value in self.attachments:
            if isinstance(value, Mapping):
                content += prompt_blocks([value])
                continue
            one = as_attachment(value, directory)
            # A file that does not exist is an error here; the agent would only see a dead link.
            data = await files.read(one.path) if one.embed else None
            if data is None:
                await files.stat(one.path)
            content.append(attachment_block(one, data))
        return content


def prompt_request(
    prompt: Prompt, attachments: Sequence[AttachmentLike], timeout_s: float | None, respond_async: bool
) -> PromptRequest:
    """A prompt whose form was checked; raises `TypeError` before anything is sent."""
    blocks = prompt_blocks(prompt)
    if isinstance(attachments, str | Mapping) or not isinstance(attachments, Iterable):
        raise TypeError(f"attachments is a list of files, not {attachments!r}")
    if timeout_s is not None and not isinstance(timeout_s, int | float):
        raise TypeError(f"timeout is a number of seconds, not {timeout_s!r}")
    return PromptRequest(blocks, attachments, timeout_s, respond_async)
