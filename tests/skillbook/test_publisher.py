"""The library keeps every published skill whole, even if publishers are killed, run in parallel or cannot write."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.skillbook.library import Skillbook
from tests.cli.conftest import CONFINED
from tests.skillbook.evidence import skill
from tests.skillbook.publisher import RECORDS, numbered

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here"),
]

ROOT = Path(__file__).parents[2]
KILLS, MOST_KILLS = 30, 200
"""More than the first number only until one has hit a skill that was being written."""
MOMENTS = [random.Random(20251120 + n).uniform(0, 0.03) for n in range(MOST_KILLS)]
"""Seconds from the start of each publisher to its kill."""

PUBLISH_ONE = """
import sys
from pathlib import Path
from kb.errors import ReadOnlyError
from kb.skillbook.library import Skillbook
from tests.skillbook.evidence import skill
book = Skillbook(Path(sys.argv[1]))
print([found.name for found in book.skills()])
try:
    book.publish(skill("new"))
except ReadOnlyError as error:
    print(error.message)
"""


class Publisher:
    """A process that runs `tests.skillbook.publisher`."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.skillbook.publisher", str(home)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, first: int, count: int) -> int:
        """Start a process that publishes `count` skills; return its id."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{first} {count}\n")
        self.process.stdin.flush()
        return int(self._line())

    def end(self) -> dict[int, int]:
        """Wait for the process to end; return the number of published evidence records by skill."""
        published = {}
        while (line := self._line()) != "end":
            number, records = line.split()
            published[int(number)] = int(records)
        return published

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the publisher itself ended"
        return line.strip()

    def close(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture
def publishers(home: Path) -> Iterator[tuple[Publisher, Publisher]]:
    pair = (Publisher(home), Publisher(home))
    yield pair
    for publisher in pair:
        publisher.close()


def test_a_killed_publisher_leaves_only_whole_skills_including_all_that_it_had_published(
    book: Skillbook, publishers: tuple[Publisher, Publisher]
) -> None:
    publisher, _ = publishers
    half_done = 0
    for kill, moment in enumerate(MOMENTS):
        if kill >= KILLS and half_done:
            break
        first = 1000 * kill
        child = publisher.start(first, 1000)
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
        published = publisher.end()
        folders = list(book.folder.iterdir()) if book.folder.exists() else []
        half_done += any(folder.name.startswith(".stage-") for folder in folders)

        assert book.problems() == []
        found = {skill.name: skill for skill in book.skills()}
        for number in range(first, first + len(published) + 1):
            records = len(found[f"skill-{number}"].evidence) if f"skill-{number}" in found else -1
            assert records >= published.get(number, -1)
        assert book.publish(numbered(number)).evidence == numbered(number).evidence
        assert not [folder for folder in book.folder.iterdir() if folder.name.startswith(".")]
    assert half_done, "no kill happened while a skill was being written"


def test_two_parallel_publishers_publish_every_skill_whole_while_others_read(
    book: Skillbook, publishers: tuple[Publisher, Publisher]
) -> None:
    count = 10
    children = [publisher.start(0, count) for publisher in publishers]

    while any(Path(f"/proc/{child}").exists() for child in children):
        assert book.problems() == []

    assert [publisher.end() for publisher in publishers] == [dict.fromkeys(range(count), RECORDS)] * 2
    assert {s.name: s.evidence for s in book.skills()} == {f"skill-{n}": numbered(n).evidence for n in range(count)}
    assert len(list(book.folder.iterdir())) == count


def test_a_read_only_home_can_be_read_but_not_published_to(book: Skillbook) -> None:
    book.publish(skill())
    folders = [book.home, *(folder for folder in book.home.rglob("*") if folder.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, str(CONFINED), "-c", PUBLISH_ONE, str(book.home)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    for folder in folders:
        folder.chmod(0o755)

    found, refusal = done.stdout.splitlines()
    assert "softmax" in found
    assert f"{book.home} cannot be written" in refusal
