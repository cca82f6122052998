"""Judge a batch as `python -m eval` does, and tune the kernels that `arms_batch.py pack` names. Run it in the batch.

    TUNE_S=25 TUNE_UNTIL_S=420 python arms_judge.py

TUNE_S is the most seconds for timing the settings of one kernel; no tuning begins TUNE_UNTIL_S seconds after the start.
Each setting and each verdict on a tuned kernel is a line of `tuned.jsonl` as soon as it is known.
"""

import json
import os
import sys
import time
from pathlib import Path
from threading import Lock
from typing import Any

from eval.batch import judge as batch_judge
from eval.judge.driver import LocalJudge
from kb.errors import KbError
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate
from kb.types.protocols import Attempt, Proposal, Tried
from synth.search.moves import tuned_proposal
from synth.search.tuner import finalists, next_point

HERE = Path(__file__).parent
WANTED, TUNED = "tune.json", "tuned.jsonl"
BEGAN = time.monotonic()
TUNE_S, UNTIL_S = (float(os.environ.get(name, most)) for name, most in (("TUNE_S", "25"), ("TUNE_UNTIL_S", "420")))
WRITING = Lock()


def say(line: str) -> None:
    print(f"[{time.monotonic() - BEGAN:.0f} s] {line}", flush=True)


def keep(**found: object) -> None:
    with WRITING, (HERE / TUNED).open("a", encoding="utf-8") as out:
        print(json.dumps(found), file=out, flush=True)


class TuningJudge(LocalJudge):
    """Tunes kernels that passed when all verdicts on its task are given."""

    wanted: dict[str, dict[str, Any]]
    """By the candidate's digest: its run, its number there, the run's seed, and its proposal."""
    passed: tuple[tuple[Candidate, Evidence, dict[str, Any]], ...] = ()

    def verify(self, candidate: Candidate) -> Evidence:
        evidence = super().verify(candidate)
        if evidence.timing and (wanted := self.wanted.pop(candidate.digest, None)):
            self.passed = (*self.passed, (candidate, evidence, wanted))
        return evidence

    def __exit__(self, *error: object) -> None:
        try:
            for candidate, evidence, wanted in () if error[0] else self.passed:
                self._tune(candidate, evidence, **wanted)
        except KbError as fault:  # it costs no verdict that is given
            say(f"tuning ended: {fault.message}")
        finally:
            super().__exit__(*error)

    def _tune(
        self, candidate: Candidate, evidence: Evidence, run: str, number: int, seed: int, proposal: dict[str, Any]
    ) -> None:
        attempt = Attempt(**dict(Proposal.model_validate(proposal)), evidence=evidence)
        tried = list[tuple[dict[str, int], float | None]]()
        end = min(time.monotonic() + TUNE_S, BEGAN + UNTIL_S)
        while time.monotonic() < end and (
            point := next_point(candidate.parameters, attempt.settings, tried, seed=seed)
        ):
            start, estimate = time.monotonic(), self.estimate(candidate.with_parameters(point))
            tried.append((point, estimate.time_us))
            took_s = round(time.monotonic() - start, 3)
            one = Tried(template=candidate.template_digest, values=point, time_us=estimate.time_us, took_s=took_s)
            keep(run=run, tried=one.model_dump(mode="json"))
        for point in finalists(candidate.parameters, tried):
            tuned = tuned_proposal(attempt, number, candidate.with_parameters(point), point, len(tried))
            found = super().verify(tuned.candidate)
            keep(run=run, proposal=tuned.model_dump(mode="json"), evidence=found.model_dump(mode="json"))
        say(f"{attempt.note[:40]}: {len(tried)} settings timed")


def main() -> int:
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    TuningJudge.wanted = json.loads((HERE / WANTED).read_text(encoding="utf-8"))
    vars(batch_judge)["LocalJudge"] = TuningJudge
    return int(batch_judge.judge_batch(HERE, say) > 0)


if __name__ == "__main__":
    sys.exit(main())
