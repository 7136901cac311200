"""Where tasks come from: a list, an iterator, or files of JSON lines or Parquet, here or in object stores.

Tasks are read one at a time, so a source may be larger than memory. Every task has an id: the given field,
else its `id`, else its position.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from os import PathLike
from typing import Any

from sandbox_agent.rollouts.task_fields import Task
from sandbox_agent.sdk import json_codec

Tasks = Iterable[Task] | str | PathLike[str]
TaskId = str | Callable[[Any], str] | None


def read_tasks(tasks: Tasks, id: TaskId = None) -> Iterator[tuple[str, Task]]:
    """Each task with its id.

    Raises:
        ValueError: a file has a line that is no task, or two tasks have the same id, or one has none.
    """
    seen: set[str] = set()
    source = _read_file(str(tasks)) if isinstance(tasks, str | PathLike) else iter(tasks)
    for position, task in enumerate(source):
        task_id = _id_of(task, id, position)
        if task_id in seen:
            raise ValueError(f"two tasks have the id {task_id!r}")
        seen.add(task_id)
        yield task_id, task


def count_tasks(tasks: Tasks) -> int | None:
    """How many tasks there are, for the time left; None for iterators and JSON lines elsewhere.

    Counting reads a file of JSON lines once, and only the ends of Parquet files.
    """
    if not isinstance(tasks, str | PathLike):
        return len(tasks) if isinstance(tasks, Sized) else None
    path = str(tasks)
    if _is_parquet(path):
        return int(_parquet(path).count_rows())
    if "://" in path:
        return None
    with open(path, "rb") as file:
        return sum(1 for line in file if line.strip())


def _id_of(task: Task, id: TaskId, position: int) -> str:
    if callable(id):
        return str(id(task))
    if isinstance(task, Mapping):
        if id is not None:
            if id not in task:
                raise ValueError(f"task {position} has no field {id!r}")
            return str(task[id])
        if task.get("id") is not None:
            return str(task["id"])
    return str(position)


def _read_file(path: str) -> Iterator[Task]:
    if _is_parquet(path):
        for batch in _parquet(path).to_batches():
            yield from batch.to_pylist()
    else:
        yield from _read_lines(path)


def _read_lines(path: str) -> Iterator[Task]:
    with _open(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                task = json_codec.decode(line)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
            if not isinstance(task, str | dict):
                raise ValueError(f"{path}, line {number}: a task is a text or an object")
            yield task


def _open(path: str) -> Any:
    if "://" not in path:
        return open(path, "rb")
    from pyarrow import fs  # the extra `rollouts`

    filesystem, inside = fs.FileSystem.from_uri(path)
    return io.BufferedReader(filesystem.open_input_stream(inside))


def _is_parquet(path: str) -> bool:
    return path.partition("?")[0].endswith(".parquet")


def _parquet(path: str) -> Any:
    from pyarrow import dataset, fs  # the extra `rollouts`

    filesystem, inside = fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)
    return dataset.dataset(inside, format="parquet", filesystem=filesystem)
