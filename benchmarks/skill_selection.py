"""Measure how often the right one of many near-twins is selected first, and how long a selection takes.

    python -m benchmarks.skill_selection --out benchmarks/results/skill-selection.json

The skills are those of tests/skillbook/neighbourhood.py: they differ in operation, data type, condition on sizes,
target or wording alone, and each is the right one for one task. `selecting` is the selection among skills that are in
memory, `with reading` also reads the library from disk.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from benchmarks.origin import origin
from kb.skillbook.files import skill_files
from kb.skillbook.library import Skillbook
from tests.skillbook.conftest import write_files
from tests.skillbook.neighbourhood import Neighbour, neighbourhood, selected

COUNTS = (20, 50, 200)
READINGS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = origin(("kb-hardware",)) | {"skills": {str(count): measured(neighbourhood(count)) for count in COUNTS}}
    print(json.dumps(result["skills"], indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def measured(neighbours: list[Neighbour]) -> dict:
    right = sum(selected(neighbours, need).offered[0].skill.name == skill.name for skill, need in neighbours)
    with TemporaryDirectory() as folder:
        book = Skillbook(Path(folder), shipped=Path(folder) / "none")
        for skill, _ in neighbours:
            write_files(book.folder / skill.name, skill_files(skill))
        reading = [timed(lambda need=need: book.select(need)) for _, need in neighbours[:READINGS]]
    return {
        "right one first": right / len(neighbours),
        "selecting": milliseconds([timed(lambda need=need: selected(neighbours, need)) for _, need in neighbours]),
        "with reading": milliseconds(reading),
    }


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def milliseconds(times: list[float]) -> dict[str, float]:
    return {"median": round(median(times), 2), "p95": round(quantiles(times, n=20)[-1], 2)}


if __name__ == "__main__":
    main()
