"""A run that is killed at any moment can continue to the same journal, without repeating a proposal or a verdict.

Two authors answer from files at the same time, while kernels are judged and settings are timed: kernels that win,
kernels that are wrong and then mended, and texts.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kb.runs.journal import JOURNAL, Plan, Run, Runs, SynthesizerKind
from kb.skillbook.library import Skillbook
from synth.authors.asking import Exchange
from tests.runs.fakes import TASK_WITH_SUM, candidate, template

KILLS = 30
CHANCE = random.Random(7)
SHARES = [round(CHANCE.random(), 3) for _ in range(KILLS)]
PAUSE_S = 0.01
EVALUATIONS = 9
AHEAD = 3
"""Most questions at a time here."""


class Optimizer:
    """A process that runs `tests.runs.optimizer`, whose children are killed."""

    def __init__(self, shipped: Path, answers: list[str]) -> None:
        self.shipped, self.answers = shipped, answers
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.runs.optimizer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def go_on(
        self, home: Path, run: Run, synthesizer: str, *, kill_after_s: float | None = None, cards: int = 1
    ) -> tuple[int, float]:
        """Run one child; return its exit status (negative: killed) and its time in seconds."""
        answers = self.answers if synthesizer == "authors" else []
        order = {"home": str(home), "shipped": str(self.shipped), "run": run.id, "answers": answers, "pause_s": PAUSE_S}
        order["cards"] = cards
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        start, pid = time.monotonic(), json.loads(self._process.stdout.readline())["pid"]
        if kill_after_s is not None:
            time.sleep(kill_after_s)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        status = json.loads(self._process.stdout.readline())["status"]
        return status, time.monotonic() - start

    def paid(self, reply: Exchange) -> str:
        """What its author notes when it is paid for a reply: its name, and the number of the file."""
        (folder,) = (Path(folder) for folder in self.answers if reply.author.endswith(Path(folder).name))
        texts = [file.read_text() for file in sorted(folder.iterdir())]
        return f"{reply.author} {1 + texts.index(reply.text)}"

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def optimizer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Optimizer]:
    library = tmp_path_factory.mktemp("library")
    Skillbook(library, shipped=library / "none").publish(template())
    folders = [recorded(library / name, start) for start, name in enumerate(("one", "other"))]
    child = Optimizer(library / "skills", folders)
    yield child
    child.close()


def recorded(folder: Path, start: int) -> str:
    """A folder with answers of an author: of the first's a third has no kernel, of the other's a half is wrong."""
    folder.mkdir()
    for number in range(20):
        source = candidate(UNROLL=(1, 2, 4, 8)[(number + start) % 4]).source.replace(
            "// row sum", f"int row_sum_{number};"
        )
        wrong = "int wrong;\n" if start and number % 2 == 0 else ""
        plans = "plan: by rows\nplan: by columns\n" if number == 0 else ""
        kernel = f"{plans}note: try {number}\n\n```cpp\n{source}{wrong}```\n"
        refusal = f"I would rather not say: {number}"
        (folder / f"{number:02}.md").write_text(kernel if start or number % 3 != 1 else refusal)
    return str(folder)


def started(home: Path, synthesizer: str) -> Run:
    kind = SynthesizerKind.AUTHORS if synthesizer == "authors" else SynthesizerKind.TUNE
    fields = {"task": TASK_WITH_SUM, "target": "cpu-x86", "language": "cpp", "evaluations": EVALUATIONS}
    return Runs(home).start(Plan(synthesizer=kind, **fields))


def journal(run: Run) -> tuple[list[dict], list[dict]]:
    """The replies to each question, and all else that happened in a run: replies come at any time.

    A request that a kill cut off is made again under the next number, and no quick timing takes as long as another.
    """
    entries = [json.loads(line) for line in (run.folder / JOURNAL).read_text().splitlines()]
    for entry in entries:
        entry.get("tried", {}).pop("took_s", None)
    replies = [entry["exchange"] | {"number": 0, "at": ""} for entry in entries if entry["kind"] == "answered"]
    replies.sort(key=lambda reply: reply["question"])
    return replies, [entry for entry in entries if entry["kind"] not in ("asked", "answered")]


def candidates(run: Run) -> list[str]:
    return [attempt.candidate.digest for attempt in Run(run.folder).attempts]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def contents(home: Path) -> dict[str, bytes]:
    """The files of a home's skills; the name of a record depends on the id of the run, so its number stands for it."""
    found: dict[str, bytes] = {}
    for path in sorted((home / "skills").rglob("*")):
        if path.parent.name == "records":
            found[f"{path.parent.relative_to(home)}/{len([*path.parent.iterdir()])}"] = b""
        elif path.is_file():
            found[str(path.relative_to(home))] = path.read_bytes()
    return found


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("synthesizer", "cards"), [("tune", 1), ("authors", 1), ("tune", 3), ("authors", 3)])
def test_a_killed_run_continues_to_the_same_journal(
    synthesizer: str, cards: int, kills: int, optimizer: Optimizer, tmp_path: Path
) -> None:
    """A kill may come while several cards time settings; the tuner may then try other settings than without it."""
    clean_home = tmp_path / "clean"
    clean = started(clean_home, synthesizer)
    optimizer.go_on(tmp_path / "warm", started(tmp_path / "warm", synthesizer), synthesizer)
    status, seconds = optimizer.go_on(clean_home, clean, synthesizer, cards=cards)
    assert status == 0
    skills = contents(clean_home)
    assert skills
    assert any("incorrect" in path for path in skills) is (synthesizer == "authors"), "authors learn a rule"
    killed = 0
    for number, share in enumerate(SHARES[:kills]):
        home = tmp_path / str(number)
        run = started(home, synthesizer)
        status, _ = optimizer.go_on(home, run, synthesizer, kill_after_s=share * seconds, cards=cards)
        killed += status == -signal.SIGKILL
        before = Run(run.folder)
        judged, paid = len(lines(home / "judged.log")), len(lines(home / "paid.log"))
        book = Skillbook(home, shipped=optimizer.shipped)
        assert not book.problems(), "a torn skill can be seen"

        if not before.ended:
            assert optimizer.go_on(home, run, synthesizer, cards=cards)[0] == 0

        assert cards > 1 or journal(run) == journal(clean)
        assert candidates(run) == candidates(clean)
        assert [a.candidate for a in Run(run.folder).attempts] == [a.candidate for a in Run(clean.folder).attempts]
        again = lines(home / "judged.log")[judged:]
        assert not {a.candidate.digest for a in before.attempts} & set(again)
        known = {optimizer.paid(one) for one in before.exchanges if one.answered}
        assert not known & set(lines(home / "paid.log")[paid:]), "a reply is paid for twice"
        assert Run(run.folder).spent.unanswered == before.spent.unanswered <= AHEAD
        assert contents(home) == skills
    assert killed, "no kill came before the run ended"
