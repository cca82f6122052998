"""Compare the two searches of `search-arms.toml` at equal structures and at equal tokens, from the journals.

    kb campaign search-arms.toml       # a copy of the file, beside KernelBench; arms_batch.py says what comes next
    python -m benchmarks.search_arms --out benchmarks/results/search-arms-h200.json

A structure is an answer of an author; the settings that the tuner found for it count with it. Tokens are those of
prompts and answers, as kb counts them.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import kb
from benchmarks.origin import write_result
from kb.campaign.drive import runs_of, stored
from kb.campaign.results import geometric
from kb.runs.journal import Run
from kb.types.evidence import Evidence
from kb.types.protocols import Attempt

NAME, ARMS = "search-arms", ("two-level", "greedy")
LIBRARIES = ("kb-hardware",)


class Structure(NamedTuple):
    """An answer with what was judged of it, and the tokens of the run until then."""

    attempts: tuple[Attempt, ...]
    tokens: int

    @property
    def verdicts(self) -> list[Evidence]:
        return [attempt.evidence for attempt in self.attempts]


Search = Sequence[Structure]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="default: standard output")
    options = parser.parse_args()
    with kb.open() as home:
        campaign = stored(home, NAME)
        if campaign is None:
            raise SystemExit(f"this home has no campaign {NAME}")
        runs = [run for run in runs_of(home, campaign) if run and run.attempts]
    pairs = paired(runs)
    places = [attempt.evidence.environment for run in runs for attempt in run.attempts if attempt.evidence.timing]
    rows = [row(run) for run in runs]
    write_result(options.out, {"judged on": places[:1], "arms": summary(pairs, runs), "runs": rows}, LIBRARIES)


def paired(runs: Sequence[Run]) -> list[tuple[Search, Search]]:
    """The searches of both arms for each task that both have begun."""
    by_task: dict[str, dict[str, Search]] = {}
    for run in runs:
        if run.plan.part:
            by_task.setdefault(run.plan.task.digest, {})[run.plan.part.arm] = structures(run)
    return [(both[ARMS[0]], both[ARMS[1]]) for both in by_task.values() if len(both) == len(ARMS)]


def structures(run: Run) -> list[Structure]:
    written = [n for n, attempt in enumerate(run.attempts) if attempt.stage]
    ends = [*written[1:], len(run.attempts)]
    return [Structure(run.attempts[a:b], t) for a, b, t in zip(written, ends, accumulate(asked(run)), strict=False)]


def asked(run: Run) -> list[int]:
    """The tokens of each request that was answered; what one that a kill lost may have cost counts nowhere."""
    return [exchange.usage.total for exchange in run.exchanges if exchange.answered]


def best(search: Search) -> float:
    """The speed-up of the fastest win, or 1.0: the user keeps the baseline."""
    won = (one.speedup for structure in search for one in structure.verdicts if one.won and one.speedup)
    return max(won, default=1.0)


def best_correct(search: Search) -> float | None:
    """The speed-up of the fastest correct kernel."""
    return max((e.speedup for structure in search for e in structure.verdicts if e.passed and e.speedup), default=None)


def summary(pairs: Sequence[tuple[Search, Search]], runs: Sequence[Run]) -> dict:
    most = min((max(len(a), len(b)) for a, b in pairs), default=0)
    at_tokens = []
    for pair in pairs:
        limit = min(search[-1].tokens for search in pair)
        at_tokens.append(tuple([s for s in search if s.tokens <= limit] for search in pair))
    return {
        "tasks": len(pairs),
        "after so many structures": {
            number: compared([(a[:number], b[:number]) for a, b in pairs]) for number in range(1, most + 1)
        },
        "within the tokens of the arm that took fewer": compared(at_tokens),
        **{arm: totals([run for run in runs if run.plan.part and run.plan.part.arm == arm]) for arm in ARMS},
    }


def compared(pairs: Sequence[tuple[Search, Search]]) -> dict:
    """Geometric means over tasks, with 95 % bootstrap intervals."""
    both = [(x, y) for a, b in pairs if (x := best_correct(a)) and (y := best_correct(b))]
    found = {
        "two-level, 1.0 without a win": [best(a) for a, _ in pairs],
        "greedy, 1.0 without a win": [best(b) for _, b in pairs],
        "two-level over greedy": [best(a) / best(b) for a, b in pairs],
        "two-level, best correct where both have one": [x for x, _ in both],
        "greedy, best correct where both have one": [y for _, y in both],
        "two-level over greedy, best correct": [x / y for x, y in both],
    }
    means = {name: geometric(values) for name, values in found.items()}
    return {name: mean.model_dump() for name, mean in means.items() if mean}


def totals(runs: Sequence[Run]) -> dict:
    searches = [structures(run) for run in runs]
    answers = [structure.verdicts[0] for search in searches for structure in search]
    tokens, wins = sum(sum(asked(run)) for run in runs), sum(best(search) > 1.0 for search in searches)
    return {
        "correct first tries": sum(search[0].verdicts[0].passed for search in searches if search),
        "answers": len(answers),
        "correct answers": sum(one.passed for one in answers),
        "refused": dict(Counter(one.outcome.value for one in answers if not one.passed)),
        "settings timed": sum(len(run.tried) for run in runs),
        "settings judged": sum(attempt.is_tuned for run in runs for attempt in run.attempts),
        "tasks won": wins,
        "tokens": tokens,
        "tokens per task won": round(tokens / wins) if wins else None,
        "minutes of the judge": round(sum(run.judged_s for run in runs) / 60, 1),
    }


def row(run: Run) -> dict:
    """The attempts of a run in order, with the tokens of the run."""
    return {
        "task": run.plan.task.name,
        "arm": run.plan.part.arm if run.plan.part else "",
        "tokens": sum(asked(run)),
        "ended": run.ended,
        "attempts": [
            {"stage": attempt.stage or "tuned", "outcome": attempt.evidence.outcome, "note": attempt.note}
            | timed(attempt.evidence)
            for attempt in run.attempts
        ],
    }


def timed(evidence: Evidence) -> dict:
    timing = evidence.timing
    if not timing or evidence.untimed:
        return {}
    return {
        "us": round(evidence.time_us, 1), "speed-up": round(timing.speedup, 3), "baseline": timing.baseline,
        "interval": [round(timing.low, 3), round(timing.high, 3)], "won": evidence.won,
    }  # fmt: skip


if __name__ == "__main__":
    main()
