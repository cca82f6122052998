"""Continues a run in a child process for each order on its input, so that a test may kill it at any moment.

Orders are JSON lines with `home`, `shipped`, `answers` (folders of recorded authors; none: the tuner), `run`, `cards`,
which judge at the same time, and `pause_s`: a verdict takes so long, and an answer five times. The output has the
child's `pid` and, when it has ended, its `status`.
"""

import json
import os
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.pool.ahead import JudgesOnCards
from kb.runs.journal import Runs
from synth.authors.author import Ask, Reply
from synth.authors.recorded import RecordedAuthor
from tests.runs.fakes import TASK_WITH_SUM, FakeJudge, asking, cards, loop_of, note


@dataclass
class LoggedAuthor(RecordedAuthor):
    """Answers from files, after a pause, and logs what it is paid for."""

    log: Path
    pause_s: float

    def answer(self, ask: Ask) -> Reply:
        time.sleep(self.pause_s)
        note(self.log, f"{self.name} {ask.number}")
        return super().answer(ask)


def go_on(order: dict[str, Any]) -> None:
    home, pause_s = Path(order["home"]), float(order["pause_s"])
    judge = FakeJudge(home / "judged.log", pause_s, estimate_s=pause_s / 10, task=TASK_WITH_SUM)
    run, log = Runs(home).get(order["run"]), home / "paid.log"
    authors = [LoggedAuthor(Path(folder), log, 5 * pause_s) for folder in order["answers"]]
    several = JudgesOnCards(lambda _: nullcontext(judge), cards(order["cards"]), print) if order["cards"] > 1 else None
    with several or nullcontext(judge) as judges:
        loop_of(run, home, Path(order["shipped"])).optimize(asking(*authors) if authors else None, judges)


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                go_on(json.loads(line))
                status = 0
            finally:
                os._exit(status)
        print(json.dumps({"pid": child}), flush=True)
        print(json.dumps({"status": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}), flush=True)


if __name__ == "__main__":
    main()
