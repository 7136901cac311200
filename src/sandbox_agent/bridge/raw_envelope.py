"""The quick look at a message: msgspec finds the two keys that matter and skips everything else."""

from __future__ import annotations

import msgspec


class RawEnvelope(msgspec.Struct, gc=False):
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()


ValidationError = msgspec.ValidationError
decode_object = msgspec.json.Decoder(RawEnvelope).decode
decode_any = msgspec.json.Decoder(msgspec.Raw).decode
