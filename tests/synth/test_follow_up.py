"""Phrasings for the next search of the documents, from the judge's evidence."""

from pathlib import Path

import pytest

from eval.languages.registry import CPP
from kb.types.evidence import Evidence, Finding, Outcome
from synth.briefing.follow_up import (
    BOTTLENECK_PHRASES,
    CHECK_PHRASES,
    REFUSED_PHRASES,
    search_phrases,
)
from tests.synth.samples import SCREEN, candidate, evidence

KERNEL = candidate(CPP)
NARROW = SCREEN.model_copy(
    update={"findings": (Finding(check="global loads", state="warn", message="widest global load 4 B of 16 B"),)}
)


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
