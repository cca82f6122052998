"""A model points at facts in a document; what the text does not hold is no fact."""

import json
from pathlib import Path

import pytest

from kb.facts.profile import FactStanding
from kb.home.knowledge_base import KnowledgeBase
from kb.settings import Settings
from synth.fact_proposals import PIECE_CHARACTERS, propose_facts
from tests.synth.model_server import answer, serving
from tests.synth.scripted import ScriptedModel

TEXT = "# Memory\n\nEvery unit owns 48 KiB of scratch, spread over 24 banks.\n"
GOOD = {
    "target": "mi300x", "quantity": "lds_size", "value": "48", "unit": "KiB", "condition": ["per compute unit"],
    "quote": "owns 48 KiB of scratch",
}  # fmt: skip


def proposed(*lines: object, text: str = TEXT) -> list[tuple[str, str]]:
    said = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    found = propose_facts(ScriptedModel(said), text, target="mi300x")
    return [(proposal.quote, text[at : at + len(proposal.quote)]) for proposal, at in found]


def test_a_fact_comes_with_the_place_of_its_quote() -> None:
    assert proposed(GOOD) == [("owns 48 KiB of scratch", "owns 48 KiB of scratch")]


@pytest.mark.parametrize(
    "wrong",
    [
        GOOD | {"quote": "has 48 KiB of scratch"},
        GOOD | {"quote": "24 banks"},
        GOOD | {"value": "4"},
        GOOD | {"value": "64"},
        GOOD | {"quantity": "scratch_size"},
        GOOD | {"unit": "TB/s"},
        GOOD | {"value": "forty-eight"},
        GOOD | {"quote": ""},
        GOOD | {"trust": "vendor"},
        {"quantity": "lds_size"},
        "The scratch is 48 KiB.",
        "[]",
        "null",
    ],
    ids=str,
)
def test_proposals_without_a_quote_in_the_text_or_a_known_quantity_are_left_out(wrong: object) -> None:
    assert proposed(wrong, GOOD) == [("owns 48 KiB of scratch", "owns 48 KiB of scratch")]


def test_a_long_document_is_read_in_pieces_with_places_of_the_whole() -> None:
    long = "filler line\n" * (PIECE_CHARACTERS // 10) + TEXT

    assert ("owns 48 KiB of scratch", "owns 48 KiB of scratch") in proposed(GOOD, text=long)


def test_proposed_facts_are_stored_cited_and_hold_only_when_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mi300x").mkdir()
    (tmp_path / "mi300x" / "memory.md").write_text(TEXT)
    of_a_sibling = GOOD | {"target": "mi355x"}
    with serving(*[answer(f"{json.dumps(GOOD)}\n{json.dumps(of_a_sibling)}")] * 2) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        settings = Settings(home=tmp_path / "home", embedding_model="none", anthropic_model="some-model")
        with KnowledgeBase(settings) as kb:
            kb.ingest([tmp_path / "mi300x"])
            [fact] = kb.propose_facts("memory.md")
            [again] = kb.propose_facts("memory.md")

            assert fact == again
            assert (fact.target, fact.amount, fact.quote) == ("mi300x", 48 * 1024, "owns 48 KiB of scratch")
            assert kb.cite(fact.citation.id).citation.line_start == 3
            assert standing(kb, fact.citation.id) is FactStanding.UNCONFIRMED

            from kb.facts.profile import Verdict

            kb.factbook.decide(fact.citation.id, Verdict.ACCEPTED)
            assert standing(kb, fact.citation.id) is FactStanding.HOLDS


def standing(kb: KnowledgeBase, key: str) -> FactStanding:
    return next(s.standing for s in kb.factbook.standings("mi300x") if s.fact.citation.id == key)
