"""What the trials of all arms show: a table, and a plot, with intervals over pairs of seed and task."""

import json
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, quantiles

from benchmarks.unseen.arms import ATTEMPTS, Arm

RESAMPLES = 2000
Verdicts = list[dict]
"""Of one trial, in order."""
Trials = dict[Arm, dict[tuple[str, str], list[Verdicts]]]
"""The repetitions of each arm, by seed and task."""


def collected(out: Path) -> Trials:
    """All trials in a folder that are over."""
    found: Trials = defaultdict(lambda: defaultdict(list))
    for folder in sorted(out.glob("seed-*/*/*/*")):
        seed, task, arm, _ = folder.relative_to(out).parts
        verdicts = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("verdict-*.json"))]
        if len(verdicts) == ATTEMPTS or any(map(_passed, verdicts)):
            found[Arm(arm)][seed, task].append(verdicts)
    return found


def _passed(verdict: dict) -> bool:
    return verdict["outcome"] == "passed"


def solved(verdicts: Verdicts) -> float:
    return float(any(map(_passed, verdicts)))


def solved_at_once(verdicts: Verdicts) -> float:
    return float(_passed(verdicts[0]))


def attempts(verdicts: Verdicts) -> float:
    """Until the first that passed; one more than are allowed if none did."""
    return float(len(verdicts) if solved(verdicts) else ATTEMPTS + 1)


def over_expert(verdicts: Verdicts) -> float:
    """Logarithm of the cycles over the expert's; NaN if no attempt passed."""
    return _over("expert_cycles", verdicts)


def over_least(verdicts: Verdicts) -> float:
    """Logarithm of the cycles over those that no program can go below; NaN if no attempt passed."""
    return _over("least_cycles", verdicts)


def _over(anchor: str, verdicts: Verdicts) -> float:
    return min((math.log(v["cycles"] / v[anchor]) for v in verdicts if _passed(v)), default=math.nan)


def read(verdicts: Verdicts) -> float:
    """Characters of prompts, as far as they were new to the author, and of what else was recorded as read."""
    return float(sum(v["shown_characters"] + v["read_characters"] for v in verdicts))


def written(verdicts: Verdicts) -> float:
    return float(sum(v["answer_characters"] for v in verdicts))


MEASURES: dict[str, Callable[[Verdicts], float]] = {
    "correct at once": solved_at_once,
    f"correct within {ATTEMPTS}": solved,
    f"attempts ({ATTEMPTS + 1}: never)": attempts,
    "cycles over expert": over_expert,
    "cycles over bound": over_least,
    "characters read": read,
    "characters written": written,
}
LOGARITHMIC = ("cycles over expert", "cycles over bound")


def compared(trials: Trials) -> dict[str, dict[str, dict[str, object]]]:
    """For each arm and measure: the mean over pairs of seed and task, its 95 % bootstrap interval, and the difference
    to the arm `raw`, or the quotient of cycles, over the pairs that both have."""
    base = trials.get(Arm.RAW, {})
    return {
        arm.value: {name: _summary(name, _means(trials[arm], name), _means(base, name)) for name in MEASURES}
        for arm in Arm
        if arm in trials
    }


def _means(pairs: dict[tuple[str, str], list[Verdicts]], name: str) -> dict[tuple[str, str], float]:
    """The mean of each pair over those repetitions that have a value."""
    values = {pair: [MEASURES[name](verdicts) for verdicts in repeated] for pair, repeated in pairs.items()}
    known = {pair: [value for value in found if not math.isnan(value)] for pair, found in values.items()}
    return {pair: fmean(found) for pair, found in known.items() if found}


def _summary(name: str, own: dict[tuple[str, str], float], base: dict[tuple[str, str], float]) -> dict[str, object]:
    shown = math.exp if name in LOGARITHMIC else float
    both = [own[pair] - base[pair] for pair in own if pair in base]
    return {
        "pairs": len(own),
        "mean": shown(fmean(own.values())) if own else None,
        "interval": [shown(end) for end in interval(list(own.values()))] if own else None,
        "against raw": [shown(fmean(both)), *(shown(end) for end in interval(both))] if both else None,
    }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean."""
    if len(values) < 2:
        return values[0], values[0]
    dice = random.Random(0)
    cuts = quantiles((fmean(dice.choices(values, k=len(values))) for _ in range(RESAMPLES)), n=40)
    return cuts[0], cuts[-1]


def table(result: dict[str, dict[str, dict[str, object]]]) -> str:
    """The comparison in Markdown."""
    lines = ["| arm | " + " | ".join(MEASURES) + " |", "|---" * (len(MEASURES) + 1) + "|"]
    for arm, measures in result.items():
        lines.append(f"| {arm} | " + " | ".join(_cell(measures[name]) for name in MEASURES) + " |")
    return "\n".join(lines)


def _cell(summary: dict) -> str:
    if summary["mean"] is None:
        return "-"
    low, high = summary["interval"]
    return f"{_short(summary['mean'])} [{_short(low)}, {_short(high)}]"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


def plot(trials: Trials, file: Path) -> None:
    """Draw the share of trials that were correct after each attempt, and what correct ones took and read."""
    from matplotlib.figure import Figure

    arms = [arm for arm in Arm if arm in trials]
    result = compared(trials)
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    attempted, *others = figure.subplots(1, 3)
    numbers = range(1, ATTEMPTS + 1)
    for place, arm in enumerate(arms):
        done = [attempts(verdicts) for repeated in trials[arm].values() for verdicts in repeated]
        aside = 0.08 * (place - len(arms) / 2)  # so that equal arms do not hide each other
        shares = [fmean(float(d <= number) for d in done) for number in numbers]
        attempted.plot([number + aside for number in numbers], shares, color=f"C{place}", marker="o", label=arm.value)
    attempted.set(xlabel="attempts", ylabel="share of trials that are correct", ylim=(-0.04, 1.04), xticks=numbers)
    for axes, name in zip(others, ("cycles over bound", "characters read"), strict=True):
        for place, arm in enumerate(arms):
            if (mean := result[arm.value][name]["mean"]) is not None:
                low, high = result[arm.value][name]["interval"]
                axes.errorbar(mean, place, xerr=[[mean - low], [high - mean]], color=f"C{place}", marker="o", capsize=4)
        axes.set(xlabel=name, yticks=range(len(arms)), yticklabels=[arm.value for arm in arms], xlim=(0, None))
        axes.set_ylim(len(arms) - 0.5, -0.5)
    figure.legend(loc="outside lower left", ncols=len(arms))
    figure.savefig(file)
