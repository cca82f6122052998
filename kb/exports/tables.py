"""Tables of records: JSON Lines, and parquet where pyarrow is installed."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from kb.storage import write_whole
from kb.types.base import Frozen


def write_table(folder: Path, name: str, records: Sequence[Frozen]) -> dict[str, int]:
    """Write the records; returns the number of them by file."""
    file = folder / f"{name}.jsonl"
    write_whole(file, "".join(f"{json.dumps(record.model_dump(mode='json'))}\n" for record in records))
    written = {file.name: len(records)}
    if records and find_spec("pyarrow"):
        from pyarrow import json as arrow
        from pyarrow import parquet

        table = arrow.read_json(file)
        parquet.write_table(table, file.with_suffix(".parquet"))
        written[file.with_suffix(".parquet").name] = table.num_rows
    return written
