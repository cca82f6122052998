"""Measure the share of cells of real tables that are parsed into the right row and column, for each kind of table.

    python -m benchmarks.tables CORPUS --out benchmarks/results/tables.json

The cells are those of tests/ingest/tables.jsonl. The result names device, versions and commit.
"""

import argparse
from collections import Counter
from pathlib import Path

from benchmarks.origin import write_result
from tests.ingest.tables import faults, gold_tables

LIBRARIES = ("kb-hardware", "docutils", "markdown-it-py", "pypdfium2", "selectolax")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    write_result(options.out, score(options.corpus), LIBRARIES)


def score(corpus: Path) -> dict:
    tables = gold_tables()
    wrong = list(faults(tables, corpus))
    cells, missing = Counter(t.kind for t in tables for _ in t.cells), Counter(fault.table.kind for fault in wrong)
    return {
        "tables": len(tables),
        "cells": cells.total(),
        "share found": round(1 - len(wrong) / cells.total(), 4),
        "by kind": {kind: {"cells": n, "found": n - missing[kind]} for kind, n in sorted(cells.items())},
        "not found": [f"{fault.table} {tuple(fault.cell)}: {fault.reason}" for fault in wrong],
    }


if __name__ == "__main__":
    main()
