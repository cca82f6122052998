"""Publishes skills in a child process for each line on its input, so that a test may kill it at any moment.

A line has the number of the first skill and the number of skills. The children are forked from a process that has all
libraries loaded. It prints the child's id, each skill with the number of its published evidence records, and `end`.
"""

import os
import sys
from pathlib import Path

from kb.errors import LockedError
from kb.skillbook.library import Skillbook
from kb.types.skill import Skill
from tests.skillbook.evidence import evidence, kernel, skill

RECORDS = 2


def numbered(number: int, records: int = RECORDS) -> Skill:
    code = kernel(f"# {number}\n" * 200)
    found = tuple(evidence(code, speedup=2.0, created=f"2025-11-2{n}") for n in range(records))
    return skill(f"skill-{number}", candidate=code, evidence=found)


def publish(home: Path, first: int, count: int) -> None:
    book = Skillbook(home, shipped=home / "none")
    for number in range(first, first + count):
        for records in range(RECORDS + 1):
            while True:
                try:
                    book.publish(numbered(number, records))
                    break
                except LockedError:  # another publisher held the lock until the timeout
                    continue
            os.write(sys.stdout.fileno(), f"{number} {records}\n".encode())  # at once, or a kill could cut the line


def main() -> None:
    home = Path(sys.argv[1])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            publish(home, *map(int, line.split()))
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("end", flush=True)


if __name__ == "__main__":
    main()
