"""The names with which a tool of the target refused a candidate, for the next search of the documents."""

import pytest

from eval.languages.registry import CPP
from kb.types.evidence import Evidence, Outcome
from synth.briefing.follow_up import refused_names
from tests.synth.samples import candidate, evidence

KERNEL = candidate(CPP)


@pytest.mark.parametrize("of", [evidence(KERNEL, Outcome.INCORRECT), evidence(KERNEL, speedup=1.5)])
def test_a_fault_that_is_unrelated_to_the_target_names_nothing(of: Evidence) -> None:
    assert refused_names(of, "") == []


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

    assert refused_names(refused, source)[: len(names)] == names
