"""Tables of records: JSON Lines, and parquet where pyarrow is installed."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from kb.storage import write_whole
from kb.types.base import Frozen


def write_table(folder: Path, name: str, records: Sequence[Frozen]) -> dict[str, int]:
    """Write the records; returns the number of them by file."""
    file, rows = folder / f"{name}.jsonl", [record.model_dump(mode="json") for record in records]
    write_whole(file, "".join(f"{json.dumps(row)}\n" for row in rows))
    written = {file.name: len(rows)}
    if rows and find_spec("pyarrow"):
        from pyarrow import Table, parquet

        columns = file.with_suffix(".parquet")
        parquet.write_table(Table.from_pylist(rows), columns)
        written[columns.name] = len(rows)
    return written
