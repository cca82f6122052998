"""Compare the first arm of a campaign with its others at equal structures and at equal tokens, from the journals.

    kb campaign search-arms.toml       # a copy of the file, beside KernelBench; kb says what comes next
    python -m benchmarks.search_arms --out benchmarks/results/search-arms-h200.json
    python -m benchmarks.search_arms search-arms-cpu --out benchmarks/results/search-arms-cpu.json

Several campaigns with the same arms count as one.

A structure is an answer of an author; the settings that the tuner found for it count with it. Tokens are those of
prompts and answers, as kb counts them.
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
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

LIBRARIES = ("kb-hardware",)


class Structure(NamedTuple):
    """An answer with what was judged of it, and the tokens of the run until then."""

    attempts: tuple[Attempt, ...]
    tokens: int

    @property
    def verdicts(self) -> list[Evidence]:
        return [attempt.evidence for attempt in self.attempts]


Search = Sequence[Structure]
Arms = Mapping[str, Search]
"""The searches for one task by the names of their arms, that of the campaign's first arm first."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaigns", nargs="*", default=["search-arms"])
    parser.add_argument("--out", type=Path, help="default: standard output")
    options = parser.parse_args()
    with kb.open() as home:
        campaigns = {name: stored(home, name) for name in options.campaigns}
        if missing := [name for name, campaign in campaigns.items() if campaign is None]:
            raise SystemExit(f"this home has no campaign {missing[0]}")
        found = [campaign for campaign in campaigns.values() if campaign]
        runs = [run for campaign in found for run in runs_of(home, campaign) if run and run.attempts]
    arms = [arm.name for arm in found[0].arms]
    places = [attempt.evidence.environment for run in runs for attempt in run.attempts if attempt.evidence.timing]
    rows = [row(run) for run in runs]
    write_result(
        options.out, {"judged on": places[:1], "arms": summary(paired(runs, arms), runs, arms), "runs": rows}, LIBRARIES
    )


def paired(runs: Sequence[Run], arms: Sequence[str]) -> list[Arms]:
    """The searches of all arms for each task that all have begun."""
    by_task: dict[str, dict[str, Search]] = {}
    for run in runs:
        if run.plan.part:
            by_task.setdefault(run.plan.task.digest, {})[run.plan.part.arm] = structures(run)
    return [{arm: own[arm] for arm in arms} for own in by_task.values() if own.keys() == set(arms)]


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


def summary(tasks: Sequence[Arms], runs: Sequence[Run], arms: Sequence[str]) -> dict:
    most = min((max(map(len, task.values())) for task in tasks), default=0)
    pairs = [(arms[0], other) for other in arms[1:]]
    return {
        "tasks": len(tasks),
        "after so many structures": {
            number: compared([{arm: search[:number] for arm, search in task.items()} for task in tasks], arms)
            for number in range(1, most + 1)
        },
        "within the tokens of the arm that took fewer": {
            " and ".join(pair): compared([at_equal_tokens(task, pair) for task in tasks], pair) for pair in pairs
        },
        **{arm: totals([run for run in runs if run.plan.part and run.plan.part.arm == arm]) for arm in arms},
    }


def at_equal_tokens(task: Arms, pair: Sequence[str]) -> Arms:
    """The structures of two arms within the tokens of the one that took fewer."""
    limit = min(task[arm][-1].tokens for arm in pair)
    return {arm: [structure for structure in task[arm] if structure.tokens <= limit] for arm in pair}


def compared(tasks: Sequence[Arms], arms: Sequence[str]) -> dict:
    """Geometric means over tasks, with 95 % bootstrap intervals; those of ratios are of pairs."""
    first, *others = arms
    found = {f"{arm}, 1.0 without a win": [best(task[arm]) for task in tasks] for arm in arms}
    found |= {f"{arm}, best correct": [x for task in tasks if (x := best_correct(task[arm]))] for arm in arms}
    for other in others:
        found[f"{first} over {other}"] = [best(task[first]) / best(task[other]) for task in tasks]
        both = [(best_correct(task[first]), best_correct(task[other])) for task in tasks]
        found[f"{first} over {other}, best correct where both have one"] = [x / y for x, y in both if x and y]
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
