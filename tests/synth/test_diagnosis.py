"""The judge's evidence as sentences."""

import pytest

from eval.languages.registry import CPP
from kb.types.evidence import Bottleneck, CaseResult, Evidence, Finding, Grade, Outcome
from synth.prompts.diagnosis import (
    COMPARISONS,
    MEANING,
    NUMBER,
    RULES,
    VALUES,
    Rule,
    diagnose,
    diagnosis_of,
    quoted,
    signals_of,
)
from tests.synth.samples import SCREEN, candidate, evidence

KERNEL = candidate(CPP)


def test_every_outcome_has_its_own_meaning() -> None:
    assert set(MEANING) == set(Outcome)
    assert len(set(MEANING.values())) == len(Outcome)


@pytest.mark.parametrize(
    ("speedup", "said"),
    [
        (
            1.5,
            "It is faster than `compile`, the best baseline: 66.67 us against 100 us, 1.50 times as fast "
            "(95 % interval 1.43 to 1.58). This is a win.",
        ),
        (
            0.8,
            "It is slower than `compile`, the best baseline: 125 us against 100 us, 0.80 times as fast "
            "(95 % interval 0.76 to 0.84). This is not a win: the lower end must exceed 1.03.",
        ),
    ],
)
def test_a_measured_speed_is_reported_with_its_interval(speedup: float, said: str) -> None:
    assert " ".join(diagnose(evidence(KERNEL, speedup=speedup))) == f"It passed. {said}"


def test_a_speed_up_within_the_noise_is_not_a_win() -> None:
    assert "This is not a win" in diagnose(evidence(KERNEL, speedup=1.05))[-1]


def test_a_refused_candidate_is_told_in_which_cases_it_was_right() -> None:
    names = ("N=65; given values", "N=65; mixed values", "sizes as given")
    cases = tuple(CaseResult(name=name, outcome=Outcome.PASSED, max_error=0.0, error_ratio=0.0) for name in names)

    found = diagnose(evidence(KERNEL, Outcome.INCORRECT, cases=cases))[1]

    right = "Right in 3 cases (`N=65`: given, mixed; `sizes as given`: given)."
    assert found == f"{right} The judge stops at the first that fails. {VALUES}"
    assert diagnose(evidence(KERNEL, cases=cases))[1] == "Right in 3 cases: as many as the judge had time to draw."


def test_findings_that_say_what_is_wrong_are_cited_and_the_others_left_out() -> None:
    text = " ".join(quoted(evidence(KERNEL, Outcome.OVER_LIMIT, screen=(SCREEN,))))

    assert "128 <= 512" not in text
    assert "over: scratchpad 81,920 B > 65,536 B [00000000000a]" in text
    assert "warn: 12 registers spilled per lane" in text
    assert "unknown: occupancy" not in text


def screened(**resources: object) -> Evidence:
    return evidence(KERNEL, screen=(SCREEN.model_copy(update={"findings": (), "spills": 0, **resources}),))


def measured(memory: float, compute: float = 0.0) -> Evidence:
    limit = Bottleneck(memory=memory, compute=compute, citations=())
    return evidence(KERNEL, speedup=0.9).model_copy(update={"bottleneck": limit})


NARROW = (Finding(check="global loads", state="warn", message="widest global load 4 B of 16 B"),)
NO_MATRIX = (Finding(check="matrix", state="warn", message="the dot products use no matrix instruction"),)


@pytest.mark.parametrize(
    ("of", "name"),
    [
        (screened(spills=3, findings=NARROW), "spills"),
        (screened(occupancy=1, findings=NARROW), "occupancy"),
        (screened(findings=NARROW), "narrow loads"),
        (screened(findings=NO_MATRIX), "no matrix instruction"),
        (screened(), "screened"),
        (evidence(KERNEL).model_copy(update={"grade": Grade.SIMULATED}), "simulated"),
        (measured(0.9), "memory"),
        (measured(0.5), "memory latency"),
        (measured(0.1), "latency"),
        (measured(0.2, 0.9), "compute"),
        (measured(0.2, 0.4), "tiling"),
        (evidence(KERNEL, speedup=0.9, log="ptxas info: 96 bytes spill stores, 96 bytes spill loads"), "spills"),
    ],
)
def test_the_first_rule_that_holds_names_what_limits_a_candidate(of: Evidence, name: str) -> None:
    assert diagnosis_of(of).rules[0].name == name
    unknown = name in ("screened", "simulated")
    limit = "What limits it is not known, because nothing timed it" if unknown else "What limits it: "
    assert limit in " ".join(diagnose(of))


def test_a_diagnosis_gives_the_advice_of_two_rules_at_most_and_shows_three_numbers() -> None:
    found = diagnosis_of(screened(spills=3, occupancy=1, findings=(*NARROW, *NO_MATRIX)))

    assert [rule.name for rule in found.rules] == ["spills", "occupancy"]
    shown = "(3 spilled, 128 registers per lane, 4 warps per workgroup)"
    assert found.sentences[0] == f"What limits it: it needs more registers than it has {shown}."


def test_a_kernel_that_keeps_the_matrix_units_busy_is_not_told_that_it_waits() -> None:
    assert [rule.name for rule in diagnosis_of(measured(0.2, 0.9)).rules] == ["compute"]
    assert [rule.name for rule in diagnosis_of(measured(0.5, 0.9)).rules] == ["compute"]


def test_a_rate_that_a_kernel_exceeds_is_no_bound_and_gets_no_share() -> None:
    said = " ".join(diagnose(measured(0.3, 22.46)))

    assert "It is faster than the compute rate allows for the work of the reference" in said
    assert "2246" not in said
    assert "2,246" not in said


def test_a_refused_candidate_gets_no_advice() -> None:
    assert diagnosis_of(evidence(KERNEL, Outcome.INCORRECT, screen=(SCREEN,))).rules == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_source_and_numbers_that_the_judge_may_have(rule: Rule) -> None:
    known = (
        {"simulated": 1.0}
        | signals_of(measured(0.5, 0.5))
        | signals_of(screened(occupancy=1, findings=(*NARROW, *NO_MATRIX)))
    )

    assert rule.source
    assert rule.search
    assert len(rule.shows) <= 3
    assert set(rule.shows) <= NUMBER.keys()
    assert {*rule.shows, *(condition.rsplit(maxsplit=2)[0] for condition in rule.when)} <= known.keys()
    assert all(condition.split()[-2] in COMPARISONS for condition in rule.when)
