"""The quick look at a message: msgspec finds the two keys that matter and skips everything else."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec


class RawEnvelope(msgspec.Struct, gc=False):
    is_one_line: ClassVar = False
    """Whether it is known that there is no line end in the message."""
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()


class _Notification(msgspec.Struct, gc=False):
    """An object without an id: there is no value that its id could have."""

    id: Annotated[int, msgspec.Meta(ge=1, le=0)] = 0


ValidationError = msgspec.ValidationError
decode_object = msgspec.json.Decoder(RawEnvelope).decode
decode_notifications = msgspec.json.Decoder(_Notification).decode_lines
decode_any = msgspec.json.Decoder(msgspec.Raw).decode
