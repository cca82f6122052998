"""Say in sentences why a candidate was refused, or what limits it and what to do, from the judge's evidence.

diagnosis.toml holds the sentences and the rules.
"""

import operator
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from kb.types.base import Frozen
from kb.types.evidence import ABOVE_ROOF, AVOIDED, Evidence, Grade, KernelScreen
from kb.types.kernels import workload_name
from kb.types.timing import LEAST_OF_WORKLOADS, WIN_MARGIN

ADVICE = 2
"""Most rules that give advice."""
VALUES = "Given values are drawn by the task's file; mixed ones differ in kind and magnitude from slice to slice."
COMPARISONS = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
_TABLE = tomllib.loads(files("synth.prompts").joinpath("diagnosis.toml").read_text(encoding="utf-8"))
MEANING: Mapping[str, str] = _TABLE["outcome"]
"""What each outcome is, in a sentence."""
NUMBER: Mapping[str, str] = _TABLE["number"]
"""What each number of a diagnosis is, in words."""
_SPILLED = re.compile(r"(\d+) bytes spill stores")
"""Of `ptxas -v`."""
_USED = re.compile(r"Used (\d+) registers")


class Rule(Frozen):
    """A class of what limits a candidate; diagnosis.toml explains the fields."""

    name: str
    says: str
    when: tuple[str, ...]
    shows: tuple[str, ...]
    advice: str
    search: tuple[str, ...]
    source: str

    def holds(self, signals: Mapping[str, float]) -> bool:
        return all(_is_true(condition, signals) for condition in self.when)


RULES = tuple(Rule(**entry) for entry in _TABLE["rule"])
"""In the order in which they are tried."""


class Diagnosis(NamedTuple):
    """What a candidate that passed lacks."""

    rules: tuple[Rule, ...]
    """The first names the class; none if the judge has no number that says something."""
    signals: Mapping[str, float]

    @property
    def sentences(self) -> list[str]:
        if not self.rules:
            return []
        first = self.rules[0]
        shown = ", ".join(_shown(name, self.signals[name]) for name in first.shows if self.signals.get(name))
        known = f": {first.says}" if first.says else " is not known, because nothing timed it"
        return [f"What limits it{known}{f' ({shown})' if shown else ''}.", *(rule.advice for rule in self.rules)]


def diagnose(evidence: Evidence) -> tuple[str, ...]:
    """Sentences that say what happened and by how much, and for one that passed what to do.

    Times are in microseconds; only measured speeds are given. All words are kb's own: `quoted` has the others.
    """
    return (MEANING[evidence.outcome], *_compared(evidence), *_worth(evidence), *diagnosis_of(evidence).sentences)


def quoted(evidence: Evidence) -> tuple[str, ...]:
    """What the judge found in words that may come from documents or from the candidate."""
    return (*filter(None, [evidence.detail.strip()]), *_over(evidence.screen), *filter(None, [evidence.log]))


def diagnosis_of(evidence: Evidence) -> Diagnosis:
    """The rules that hold for a candidate that passed, at most `ADVICE`."""
    signals = signals_of(evidence)
    held = [rule for rule in RULES if rule.holds(signals)] if evidence.passed else []
    return Diagnosis(tuple(held[:ADVICE]), signals)


def signals_of(evidence: Evidence) -> dict[str, float]:
    """The numbers that rules ask for; those that the judge does not have are left out."""
    found: dict[str, float] = {}
    if screens := evidence.screen:
        worst = max(screens, key=lambda screen: (screen.spills, screen.registers))
        found |= {"spills": worst.spills, "registers": worst.registers, "scratchpad bytes": worst.scratchpad_bytes}
        found |= {"warps": worst.num_warps} if worst.num_warps else {}
        known = [screen.occupancy for screen in screens if screen.occupancy]
        found |= {"occupancy": min(known)} if known else {}
        found["has products"] = float(any(screen.matrix_instructions for screen in screens))
        warned = {f.check for screen in screens for f in screen.findings if f.state == "warn"}
        found |= {"narrow loads": 1.0} if "global loads" in warned else {}
        found |= {"no matrix": 1.0} if "matrix" in warned else {}
    if spilled := _SPILLED.findall(evidence.log):
        found |= {"spills": max(map(float, spilled))}
    if used := _USED.findall(evidence.log):
        found |= {"registers": max(map(float, used))}
    found |= {"simulated": 1.0} if evidence.grade is Grade.SIMULATED else {}
    if limit := evidence.bottleneck:
        shares = {"memory share": limit.memory, "compute share": limit.compute, "has products": limit.compute > 0}
        found |= {name: float(share) for name, share in shares.items() if share <= ABOVE_ROOF}
    if evidence.timing and not evidence.timing.busy:
        found |= {"time us": evidence.time_us, "on gpu": float(any(s.gpu for s in evidence.timing.sessions))}
    return found


def _is_true(condition: str, signals: Mapping[str, float]) -> bool:
    name, comparison, number = condition.rsplit(maxsplit=2)
    return name in signals and bool(COMPARISONS[comparison](signals[name], float(number)))


def _shown(name: str, value: float) -> str:
    return NUMBER[name].format(f"{value:.0%}" if name.endswith("share") else f"{value:,.4g}")


def _worth(evidence: Evidence) -> list[str]:
    if evidence.grade is Grade.COMPILED and not evidence.cases:
        return [
            "It was compiled for the target and nothing ran: whether it is right is unknown, and no speed is known."
        ]
    if evidence.grade is Grade.COMPILED:
        return ["It was compiled for the target and not run there: no speed is known."]
    if evidence.grade is Grade.SIMULATED:
        return ["It ran in an interpreter and not on the target: no speed is known."]
    if (timing := evidence.timing) is None:
        return []
    if timing.busy:
        return ["Other work used the machine while it was timed: no speed is known."]
    exceeded = evidence.bottleneck.exceeded if evidence.bottleneck else ()
    over, everywhere = f"`{timing.rivals}`, the best baseline", ""
    if timing.other_workloads:
        over = f"{timing.rivals}, by geometric means"
        everywhere = f", and no workload may be below {LEAST_OF_WORKLOADS}"
    return [
        *(
            f"At {workload_name(one.workload)} it takes {one.candidate_us:.4g} us against {one.baseline_us:.4g} us of "
            f"`{one.baseline}`, {one.speedup:.2f} times as fast."
            for one in (timing.workloads if timing.other_workloads else ())
        ),
        f"It is {'faster' if timing.speedup > 1 else 'slower'} than {over}: "
        f"{timing.candidate_us:.4g} us against {timing.baseline_us:.4g} us, {timing.speedup:.2f} times as fast "
        f"(95 % interval {timing.low:.2f} to {timing.high:.2f}).",
        "This is a win." if evidence.won else f"This is not a win: the lower end must exceed {WIN_MARGIN}{everywhere}.",
        *(f"{AVOIDED.format(what).capitalize()}." for what in exceeded),
    ]


def _compared(evidence: Evidence) -> list[str]:
    """In how many cases it was right; of one that was refused also in which."""
    cases: dict[str, list[str]] = {}
    for case in evidence.cases:
        sizes, _, values = case.name.partition("; ")
        cases.setdefault(sizes, []).append(values.removesuffix(" values") or "given")
    count = f"Right in {len(evidence.cases)} {'case' if len(evidence.cases) == 1 else 'cases'}"
    if evidence.passed or not cases:
        return [f"{count}: as many as the judge had time to draw."] if cases else []
    listed = "; ".join(f"`{sizes}`: {', '.join(values)}" for sizes, values in cases.items())
    return [f"{count} ({listed}). The judge stops at the first that fails. {VALUES}"]


def _over(screens: tuple[KernelScreen, ...]) -> list[str]:
    """What exceeds a limit, and what is no number of a rule."""
    return [
        f"{finding.state}: {finding.message}{f' [{finding.citation}]' if finding.citation else ''}"
        for screen in screens
        for finding in screen.findings
        if finding.state in ("over", "warn")
    ]
