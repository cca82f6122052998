"""Continues a run in a child process for each order on its input, so that a test may kill it at any moment.

Orders are JSON lines with `home`, `shipped`, `run`, `synthesizer` and `pause_s`. The output has the child's `pid` and,
when it has ended, its `status`.
"""

import json
import os
import sys
from pathlib import Path

from kb.runs.journal import Runs
from tests.runs.fakes import FakeJudge, PaidAuthor, asking, loop_of


def go_on(order: dict[str, str]) -> None:
    home, pause_s = Path(order["home"]), float(order["pause_s"])
    judge = FakeJudge(home / "judged.log", pause_s)
    run, log = Runs(home).get(order["run"]), home / "paid.log"
    paid = asking(run, PaidAuthor(log, pause_s, unreadable=True), PaidAuthor(log, pause_s, name="other"))
    synthesizer = paid if order["synthesizer"] == "paid" else None
    loop_of(run, home, Path(order["shipped"])).optimize(synthesizer, judge)


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
