"""The judge's evidence as sentences, and the phrasings for the next search."""

from pathlib import Path

import pytest

from eval.languages.registry import CPP
from kb.types.evidence import CaseResult, Evidence, Finding, Outcome
from kb.types.profiler import STALLS, KernelProfile, Profile
from synth.prompts.diagnosis import (
    BOTTLENECK_PHRASES,
    CHECK_PHRASES,
    MEANING,
    REFUSED_PHRASES,
    STALL_PHRASES,
    diagnose,
    search_phrases,
)
from tests.synth.samples import SCREEN, candidate, evidence

KERNEL = candidate(CPP)
NARROW = SCREEN.model_copy(
    update={"findings": (Finding(check="global loads", state="warn", message="widest global load 4 B of 16 B"),)}
)


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


def test_failing_cases_are_named_with_their_error() -> None:
    cases = (
        CaseResult(name="as given", outcome=Outcome.PASSED, max_error=0.0, error_ratio=0.0),
        CaseResult(name="rows=7", outcome=Outcome.INCORRECT, max_error=float("inf"), error_ratio=float("inf")),
        CaseResult(name="rows=9", outcome=Outcome.RAISED),
    )

    assert diagnose(evidence(KERNEL, Outcome.INCORRECT, cases=cases))[1:] == (
        "Right in 1 case.",
        "Case `rows=7`: incorrect, largest error inf, inf times what is allowed.",
        "Case `rows=9`: raised.",
    )


def test_findings_that_are_ok_are_left_out_and_the_others_are_cited() -> None:
    text = " ".join(diagnose(evidence(KERNEL, Outcome.OVER_LIMIT, screen=(SCREEN,))))

    assert "128 <= 512" not in text
    assert "over: scratchpad 81,920 B > 65,536 B [00000000000a]" in text
    assert "warn: 12 registers spilled per lane" in text
    assert "unknown: occupancy: no document states one value of simd_units" in text


@pytest.mark.parametrize(
    ("of", "phrases"),
    [
        (evidence(KERNEL, Outcome.INCORRECT), ()),
        (evidence(KERNEL, Outcome.COMPILE_ERROR, screen=(SCREEN,)), ()),
        (evidence(KERNEL, speedup=1.5), ()),
        (evidence(KERNEL, speedup=0.9), BOTTLENECK_PHRASES["memory"]),
        (evidence(KERNEL), ()),
        (
            evidence(KERNEL, Outcome.OVER_LIMIT, screen=(SCREEN, SCREEN)),
            ("LDS or shared memory size per workgroup", "register pressure spills occupancy"),
        ),
        (evidence(KERNEL, screen=(NARROW,)), ("wide vector loads coalescing",)),
    ],
)
def test_the_next_search_follows_from_the_evidence(of: Evidence, phrases: tuple[str, ...]) -> None:
    assert search_phrases(of) == phrases


@pytest.mark.parametrize(
    ("outcome", "detail", "source", "names"),
    [
        (
            Outcome.UNSUPPORTED,
            "candidate.cpp:4:70: error: instruction requires the following: 'Zvkned' (Vector AES)\n    vaesz.vs v0, v8",
            'asm("vaesz.vs v0, v8")',
            ["vaesz.vs", "Zvkned"],
        ),
        (Outcome.OVER_LIMIT, "RESOURCE_EXHAUSTED: out of vmem in pl.pallas_call", "pl.pallas_call", ["pl.pallas_call"]),
        (Outcome.COMPILE_ERROR, "use of undeclared identifier 'tile_load' in /tmp/x/kb_tensor.h", "", ["tile_load"]),
    ],
)
def test_a_refusal_by_the_targets_tools_asks_the_documents_for_its_names(
    outcome: Outcome, detail: str, source: str, names: list[str]
) -> None:
    refused = evidence(KERNEL, outcome).model_copy(update={"detail": detail})
    phrases = search_phrases(refused, source)

    assert list(phrases[: len(names)]) == names
    assert phrases[-1] == REFUSED_PHRASES[outcome]


def test_every_check_with_a_phrase_exists_in_the_screen() -> None:
    screen = (Path(__file__).parents[2] / "eval" / "screen" / "screen.py").read_text(encoding="utf-8")

    assert [check for check in CHECK_PHRASES if f'"{check}"' not in screen] == []


def profiled(stall: str) -> Evidence:
    metrics = {f"smsp__warp_issue_stalled_{stall}_per_warp_active.pct": 80.0}
    kernel = KernelProfile(kernel="scale_rows", launches=1, microseconds=7.0, metrics=metrics)
    found = Profile(kernels=(kernel,), launches=1, microseconds=7.0)
    return evidence(KERNEL, speedup=0.8).model_copy(update={"profile": found})


@pytest.mark.parametrize("stall", STALLS)
def test_what_warps_wait_for_is_told_and_searched_for(stall: str) -> None:
    said = diagnose(profiled(stall))

    assert f"Profiled, kernel scale_rows: 7.0 us; warps wait {STALLS[stall]} 80 % of the time." in said
    assert search_phrases(profiled(stall)) == STALL_PHRASES[stall]
