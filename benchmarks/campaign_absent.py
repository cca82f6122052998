"""Make the result of a campaign for chips that are not here, from the journals of the home. It has no speed-up.

    KB_HOME=HOME python -m benchmarks.campaign_absent campaign-absent --out benchmarks/results/campaign-absent.json

Of the correct candidates of a run the first and the best are listed. The best has the fewest cycles where a simulator
counted them; else its kernels spill the fewest registers, then fit the most wavefronts, then it came first.
"""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from math import inf
from pathlib import Path

import kb
from benchmarks.origin import write_result
from kb.campaign.drive import runs_of, stored
from kb.campaign.results import mean, result_of
from kb.runs.journal import Run
from kb.types.evidence import Evidence, KernelScreen
from kb.types.protocols import Attempt

LIBRARIES = ("kb-hardware", "torch", "triton")
TIMED = {"won", "speedup", "low", "high", "baseline", "roof", "first_win", "dollars"}
"""Fields of a result that only a chip that is here can fill."""
CYCLES = re.compile(r"counted ([\d,]+) cycles")
BOUND = re.compile(r"at best ([^;\n]+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign")
    parser.add_argument("--out", type=Path, help="default: standard output")
    parser.add_argument("--model", default="", help="who wrote the answers, which files do not tell")
    options = parser.parse_args()
    with kb.open() as home:
        campaign = stored(home, options.campaign)
        if campaign is None:
            raise SystemExit(f"this home has no campaign {options.campaign}")
        runs = sorted(filter(None, runs_of(home, campaign)), key=lambda run: run.plan.target)
    by_target = {target: list(own) for target, own in groupby(runs, key=lambda run: run.plan.target)}
    result = {
        "campaign": campaign.name,
        "model": options.model,
        "budget": str(campaign.budget),
        "targets": {target: summary(own) for target, own in by_target.items()},
        "runs": [row(run) for run in runs],
    }
    write_result(options.out, result, LIBRARIES)


def summary(runs: Sequence[Run]) -> dict:
    """The runs of one target together."""
    attempts = [one for run in runs for one in run.attempts]
    passed = [one.evidence for one in attempts if one.evidence.passed]
    found = mean([float(any(one.evidence.passed for one in run.attempts)) for run in runs])
    return {
        "tasks": len(runs),
        "tasks with a correct kernel": sum(any(one.evidence.passed for one in run.attempts) for run in runs),
        "share, 95 %": found and [round(value, 2) for value in (found.value, found.low, found.high)],
        "candidates": len(attempts),
        "correct": len(passed),
        "correct at the first answer": sum(run.attempts[0].evidence.passed for run in runs if run.attempts),
        "refused": dict(Counter(one.evidence.outcome.value for one in attempts if not one.evidence.passed)),
        "asked for": dict(Counter(one.stage.value for one in attempts if one.stage)),
        "correct with spills": sum(any(kernel.spills for kernel in one.screen) for one in passed),
        "warnings of correct kernels": dict(
            Counter(f.check for one in passed for kernel in one.screen for f in kernel.findings if f.state == "warn")
        ),
        "tokens": sum(run.spent.usage.total for run in runs),
        "minutes of the judge": round(sum(run.judged_s for run in runs) / 60, 1),
    }


def row(run: Run) -> dict:
    """One run, with its first and its best correct candidate."""
    correct = [(number, one) for number, one in enumerate(run.attempts, start=1) if one.evidence.passed]
    best = min(correct, key=lambda each: _cost(each[1].evidence), default=None)
    return {
        **result_of(run).model_dump(mode="json", exclude=TIMED),
        "attempts": [_attempt(one) for one in run.attempts],
        "first correct": _candidate(*correct[0]) if correct else None,
        "best correct": _candidate(*best) if best else None,
    }


def _attempt(one: Attempt) -> dict:
    evidence = one.evidence
    why = {} if evidence.passed else {"why": evidence.detail.partition("\n")[0][:300]}
    return {"stage": one.stage and one.stage.value, "note": one.note, "outcome": evidence.outcome.value, **why}


def _candidate(number: int, one: Attempt) -> dict:
    evidence = one.evidence
    bound, cycles = BOUND.search(evidence.detail), CYCLES.search(evidence.detail)
    ratios = [case.error_ratio for case in evidence.cases if case.error_ratio is not None]
    return {
        "attempt": number,
        "grade": evidence.grade,
        "cases": len(evidence.cases),
        "largest error as a share of the error allowed": round(max(ratios), 4) if ratios else None,
        "no kernel is faster than": bound[1] if bound else None,
        "cycles": int(cycles[1].replace(",", "")) if cycles else None,
        "kernels": [_kernel(kernel) for kernel in evidence.screen],
    }


def _kernel(kernel: KernelScreen) -> dict:
    said = kernel.model_dump(mode="json", include={"kernel", "num_warps", "registers", "spills", "scratchpad_bytes"})
    matrix = {"matrix_instructions": kernel.matrix_instructions} if kernel.matrix_instructions else {}
    return {**said, **matrix, "findings": [f"{f.state}: {f.message}" for f in kernel.findings]}


def _cost(evidence: Evidence) -> tuple[float, ...]:
    """Less is better."""
    cycles = CYCLES.search(evidence.detail)
    spills = sum(kernel.spills for kernel in evidence.screen)
    occupancy = min((kernel.occupancy or 0 for kernel in evidence.screen), default=0)
    return (float(cycles[1].replace(",", "")) if cycles else inf, spills, -occupancy)


if __name__ == "__main__":
    main()
