"""The verdicts on a task's candidates, kept in a file and replayed from it: a judge that judges nothing twice."""

from collections.abc import Callable
from math import inf
from pathlib import Path

from eval.judge.driver import LocalJudge
from kb.bench.selftest import reference_as_candidate
from kb.types.evidence import Estimate, Evidence
from kb.types.kernels import Candidate, Interface, Task


class MeasuredGrid:
    """A `Judge` for the search loop. The real judge starts when it is first needed, which no run pays for.

    Args:
        file: One verdict a line. A line that was not written whole, and a verdict that other work disturbed, do not
            count.
    """

    def __init__(self, task: Task, interface: Interface, file: Path, start: Callable[[], LocalJudge]) -> None:
        self.interface = interface
        self._task, self._file, self._start = task, file, start
        self._judge: LocalJudge | None = None
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(whole := text[: text.rfind("\n") + 1], encoding="utf-8")
        found = map(Evidence.model_validate_json, whole.splitlines())
        self.verdicts = {e.candidate_digest: e for e in found if not (e.timing and e.timing.busy)}

    def verify(self, candidate: Candidate) -> Evidence:
        if candidate.digest not in self.verdicts:
            if self._judge is None:
                self._judge = self._start()
                self._judge.verify(reference_as_candidate(self._task))  # the first verdict also times the baselines
            evidence = self.verdicts[candidate.digest] = self._judge.verify(candidate)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(evidence.model_dump_json() + "\n")
        return self.verdicts[candidate.digest]

    def estimate(self, candidate: Candidate) -> Estimate:
        """The time of the whole verdict, which is measured once."""
        evidence = self.verify(candidate)
        return Estimate(time_us=evidence.time_us if evidence.time_us < inf else None, detail=evidence.detail)

    def speedup(self, candidate: Candidate) -> float | None:
        """The speed-up of a judged candidate; None if no time counts. All are over the same time of the baseline."""
        timings = (evidence.timing for evidence in self.verdicts.values())
        baseline_us = next((timing.baseline_us for timing in timings if timing and not timing.busy), 0.0)
        return baseline_us / self.verdicts[candidate.digest].time_us or None

    def close(self) -> None:
        if self._judge:
            self._judge.close()
