"""Parquet parts of the output: a fixed schema, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

_MAP_INT = pyarrow.map_(pyarrow.string(), pyarrow.int64())
_MAP_TEXT = pyarrow.map_(pyarrow.string(), pyarrow.string())
SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),
        ("attempt", pyarrow.int32()),
        ("agent", pyarrow.string()),
        ("text", pyarrow.string()),
        ("stop_reason", pyarrow.string()),
        ("input_tokens", pyarrow.int64()),
        ("output_tokens", pyarrow.int64()),
        ("total_tokens", pyarrow.int64()),
        ("cost_usd", pyarrow.float64()),
        ("seconds", pyarrow.float64()),
        ("exit_codes", _MAP_INT),
        ("outputs", _MAP_TEXT),
        ("score", pyarrow.float64()),
        ("error", pyarrow.string()),
        ("error_kind", pyarrow.string()),
        ("node", pyarrow.string()),
        ("sandbox", pyarrow.string()),
        ("started_at", pyarrow.string()),
        ("transcript", pyarrow.string()),
    ]
)
_MAPS = ("exit_codes", "outputs")
_MAX_INTEGER = 2**63 - 1


def write_part(directory: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Write the next part; its name appears when it is complete and on disk."""
    directory.mkdir(exist_ok=True)
    numbers = [int(part.stem.partition("-")[2]) for part in directory.glob("part-*.parquet")]
    target = directory / f"part-{max(numbers, default=-1) + 1:05}.parquet"
    staging = directory / f".{target.name}.tmp"
    plain = [{name: _storable(row.get(name)) for name in SCHEMA.names} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(plain, schema=SCHEMA), staging, compression="zstd")
    _sync(staging)
    os.rename(staging, target)
    _sync(directory)
    return target


def _storable(value: Any) -> Any:
    """A value as Parquet can have it: agents write half surrogate pairs and numbers of any length."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, int) and not -_MAX_INTEGER <= value <= _MAX_INTEGER:
        return None
    if isinstance(value, dict):
        return [(_storable(name), _storable(inner)) for name, inner in value.items()]
    return value


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_part(path: Path) -> Iterator[dict[str, Any]]:
    for batch in parquet.ParquetFile(path).iter_batches():
        for row in batch.to_pylist():
            yield {**row, **{name: dict(row[name] or ()) for name in _MAPS}}
