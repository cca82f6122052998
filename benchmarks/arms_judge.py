"""Judge a batch as `python -m eval` does, and tune the kernels that `arms_batch.py pack` names. Run it in the batch.

    TUNE_S=25 TUNE_UNTIL_S=420 python arms_judge.py
    for k in 0 1 2 3; do taskset -c $k python arms_judge.py --share $((k + 1))/4 & done; wait        # on CPUs

TUNE_S is the most seconds for timing the settings of one kernel; no tuning begins TUNE_UNTIL_S seconds after the start.
Each setting and each verdict on a tuned kernel is a line of `tuned.jsonl` as soon as it is known. A kernel that several
runs have is judged and tuned once for all. A share has all kernels of its tasks, and may be judged beside the others.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from threading import Lock
from typing import Any

from eval.batch import here
from eval.batch import judge as batch_judge
from eval.batch.pack import VERDICTS, Batch, read_batch
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
    with WRITING, (HERE / TUNED).open("ab", buffering=0) as out:  # one write, which other shares do not cut
        out.write(f"{json.dumps(found)}\n".encode())


class TuningJudge(LocalJudge):
    """Tunes kernels that passed when all verdicts on its task are given."""

    wanted: dict[str, list[dict[str, Any]]]
    """By the candidate's digest: the runs that have it, its number in each, the run's seed, and its proposal."""
    passed: tuple[tuple[Candidate, Evidence], ...] = ()
    known: tuple[Evidence, ...] = ()
    """All verdicts of this judge."""

    def verify(self, candidate: Candidate) -> Evidence:
        for evidence in self.known:
            if evidence.candidate_digest == candidate.digest:
                return evidence
        evidence = super().verify(candidate)
        self.known = (*self.known, evidence)
        if evidence.timing and not evidence.untimed:
            self.passed = (*self.passed, (candidate, evidence))
        return evidence

    def __exit__(self, *error: object) -> None:
        try:
            for candidate, evidence in () if error[0] else self.passed:
                if wanted := self.wanted.pop(candidate.digest, None):  # another judge may have tuned it
                    self._tune(candidate, evidence, wanted)
        except KbError as fault:  # it costs no verdict that is given
            say(f"tuning ended: {fault.message}")
        finally:
            super().__exit__(*error)

    def _tune(self, candidate: Candidate, evidence: Evidence, wanted: list[dict[str, Any]]) -> None:
        attempts = [Attempt(**dict(Proposal.model_validate(one["proposal"])), evidence=evidence) for one in wanted]
        attempt, seed = attempts[0], wanted[0]["seed"]
        tried = list[tuple[dict[str, int], float | None]]()
        end = min(time.monotonic() + TUNE_S, BEGAN + UNTIL_S)
        while time.monotonic() < end and (
            point := next_point(candidate.parameters, attempt.settings, tried, seed=seed)
        ):
            start, estimate = time.monotonic(), self.estimate(candidate.with_parameters(point))
            tried.append((point, estimate.time_us))
            took_s = round(time.monotonic() - start, 3)
            one = Tried(template=candidate.template_digest, values=point, time_us=estimate.time_us, took_s=took_s)
            for each in wanted:
                keep(run=each["run"], tried=one.model_dump(mode="json"))
        for point in finalists(candidate.parameters, tried):
            kernel = candidate.with_parameters(point)
            found = super().verify(kernel)
            for own, each in zip(attempts, wanted, strict=True):
                tuned = tuned_proposal(own, each["number"], kernel, point, len(tried))
                keep(run=each["run"], proposal=tuned.model_dump(mode="json"), evidence=found.model_dump(mode="json"))
        say(f"{attempt.note[:40]}: {len(tried)} settings timed")


def share(number: int, of: int) -> Path:
    """A folder for one of several shares of the batch, which writes its verdicts where the whole batch has them."""
    folder = HERE / f"share-{number}-of-{of}"
    for place in (HERE / VERDICTS, folder):
        place.mkdir(exist_ok=True)
    if not (folder / VERDICTS).is_symlink():
        (folder / VERDICTS).symlink_to(Path("..", VERDICTS))
    vars(batch_judge)["read_batch"] = lambda folder: dealt(read_batch(HERE), number, of)
    return folder


def dealt(batch: Batch, number: int, of: int) -> Batch:
    """The part of a batch with every `of`-th of its tasks, beginning at the `number`-th, from 1."""
    tasks = sorted({entry.task.digest for entry in batch.entries.values()})[number - 1 :: of]
    own = {place: entry for place, entry in batch.entries.items() if entry.task.digest in tasks}
    return batch.model_copy(update={"entries": own})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", metavar="K/N", default="1/1", help="judge the K-th of N parts of the tasks")
    number, of = map(int, parser.parse_args().share.split("/"))
    folder = share(number, of) if of > 1 else HERE
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    TuningJudge.wanted = json.loads((HERE / WANTED).read_text(encoding="utf-8"))
    vars(here)["LocalJudge"] = TuningJudge
    return int(batch_judge.judge_batch(folder, say) > 0)


if __name__ == "__main__":
    sys.exit(main())
