"""What a search means: whose documents may answer, in which order, and when there is no answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kb.errors import QueryError, TargetError
from kb.knowledge import CONTEXT_CANDIDATES
from kb.model import SearchResult, Status
from kb.session import KnowledgeBase
from kb.settings import NO_MODEL, Settings
from tests.conftest import HashEmbedder

Add = Callable[..., None]

QUESTIONS = ["local data share of a compute unit", "160 KB", "LDS in KB", "Memory", "vector L1 cache"]


@pytest.fixture
def asked(kb: KnowledgeBase, manuals: Path) -> KnowledgeBase:
    """Holds the manuals of mi300x and mi355x, and the sheets that ship for both."""
    kb.ingest([manuals])
    return kb


@pytest.fixture
def add(kb: KnowledgeBase, tmp_path: Path) -> Add:
    """Ingest one document of a target."""

    def add(target: str, text: str, name: str = "extra") -> None:
        folder = tmp_path / "extra" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        kb.ingest([folder], target=target)

    return add


def ids(result: SearchResult) -> list[str]:
    return [hit.passage.citation.id for hit in result.hits]


@pytest.mark.parametrize("exact_vectors", [0, 100_000], ids=["index", "exact"])
@pytest.mark.parametrize("target", ["mi300x", "cdna3"])
def test_a_sibling_never_answers(asked: KnowledgeBase, target: str, exact_vectors: int) -> None:
    scope = asked.targets.scope(target)

    settings = asked.settings.model_copy(update={"exact_vectors": exact_vectors})
    with KnowledgeBase(settings, embedder=HashEmbedder()) as kb:
        for question in QUESTIONS:
            result = kb.search(question, target=target, limit=50)
            context = kb.context(question, target=target, budget_tokens=100_000)

            assert {hit.passage.target for hit in result.hits} <= scope
            assert {passage.target for passage in context.passages} <= scope
            assert "Each compute unit has 160 KB" not in context.text
            assert result.status is context.status is Status.OK


def test_what_only_a_sibling_says_is_found_for_the_sibling_and_for_all(asked: KnowledgeBase) -> None:
    found = {
        target: any("has 160 KB" in hit.passage.text for hit in asked.search("local data share", target=target).hits)
        for target in ("mi300x", "mi355x", None)
    }

    assert found == {"mi300x": False, "mi355x": True, None: True}


def test_siblings_are_excluded_before_ranking_so_that_they_take_no_place(kb: KnowledgeBase, add: Add) -> None:
    better = "\n\n".join(f"## Clock gating {i}\n\nClock gating of unit {i}." for i in range(150))
    add("mi250", f"# Clock gating\n\n{better}\n")
    add("mi210", "# Remarks\n\nA long remark on other things that mentions the gating of a clock at its end.\n")

    result = kb.search("clock gating", target="mi210", limit=3)

    assert [hit.passage.target for hit in result.hits] == ["mi210"]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("gfx90a", {"cdna2", "gfx90a", "mi210", "mi250"}),
        ("mi210", {"cdna2", "gfx90a", "mi210"}),
        ("cdna2", {"cdna2", "gfx90a", "mi210", "mi250"}),
        ("MI-210", {"cdna2", "gfx90a", "mi210"}),
        (None, {"cdna2", "gfx90a", "mi210", "mi250", "hexagon"}),
    ],
)
def test_ancestors_and_descendants_answer(kb: KnowledgeBase, add: Add, target: str | None, found: set[str]) -> None:
    for name in ("cdna2", "gfx90a", "mi210", "mi250", "hexagon"):
        add(name, f"# Prefetching\n\nPrefetching on {name} is explicit.\n")

    result = kb.search("prefetching", target=target, limit=10)

    assert {hit.passage.target for hit in result.hits} == found


def test_another_phrasing_finds_what_the_first_does_not(kb: KnowledgeBase, add: Add) -> None:
    add("mi210", "# Scratchpad\n\nThe local data share is banked.\n")

    # Lexical alone, as an embedder finds a little of everything.
    with KnowledgeBase(kb.settings.model_copy(update={"embedding_model": NO_MODEL})) as lexical:
        alone = lexical.search("on-chip memory")
        together = lexical.search(["on-chip memory", "local data share"])

    assert (alone.status, alone.hits) == (Status.INSUFFICIENT, ())
    assert [hit.why.phrasings for hit in together.hits] == [1]


def test_the_order_of_the_phrasings_changes_nothing(asked: KnowledgeBase) -> None:
    phrasings = ["LDS size", "local data share", "KB of each compute unit"]

    forth, back = asked.search(phrasings, limit=20), asked.search(phrasings[::-1], limit=20)

    assert forth == back
    assert max(hit.why.phrasings for hit in forth.hits) == 3


def test_the_same_question_has_the_same_answer_again_and_after_opening_again(asked: KnowledgeBase) -> None:
    answers = [asked.search(q, limit=30) for q in QUESTIONS]

    with KnowledgeBase(asked.settings, embedder=HashEmbedder()) as reopened:
        assert [reopened.search(q, limit=30) for q in QUESTIONS] == answers
    assert [asked.search(q, limit=30) for q in QUESTIONS] == answers


def test_hits_are_ranked_and_as_many_as_asked(asked: KnowledgeBase) -> None:
    many, few = asked.search("memory", limit=20), asked.search("memory", limit=4)

    scores = [hit.score for hit in many.hits]
    assert scores == sorted(scores, reverse=True)
    assert (len(many.hits), len(few.hits)) == (20, 4)


@pytest.mark.parametrize("name", ["v_mfma_f32_32x32x8_f16", "mfma", "32x32x8", "V_MFMA_F32_32X32X8_F16"])
def test_an_instruction_is_found_by_its_name_and_by_its_parts(asked: KnowledgeBase, name: str) -> None:
    result = asked.search(name, target="mi355x", limit=20)

    assert "Multiplies two half precision matrices" in "".join(hit.passage.text for hit in result.hits)


def test_a_scope_without_documents_is_insufficient_and_the_note_says_whose_there_are(asked: KnowledgeBase) -> None:
    result = asked.search("local data share", target="hexagon")

    assert (result.status, result.hits) == (Status.INSUFFICIENT, ())
    assert len(result.notes) == 1
    assert [word for word in ("hexagon", "mi300x", "mi355x") if word not in result.notes[0]] == []


def test_a_home_without_documents_is_insufficient(kb: KnowledgeBase) -> None:
    result, context = kb.search("local data share"), kb.context("local data share")

    assert (result.status, result.hits) == (Status.INSUFFICIENT, ())
    assert (context.status, context.text, context.tokens) == (Status.INSUFFICIENT, "", 0)
    assert result.notes == context.notes != ()


@pytest.mark.parametrize("question", ["", "   ", "what is the", "?!", []])
def test_a_question_without_a_word_is_refused(asked: KnowledgeBase, question: str | list[str]) -> None:
    with pytest.raises(QueryError):
        asked.search(question)


def test_a_question_for_an_unknown_target_is_refused(asked: KnowledgeBase) -> None:
    with pytest.raises(TargetError, match="mi3000"):
        asked.search("local data share", target="mi3000")


@pytest.mark.parametrize("budget", [60, 150, 400, 2000])
def test_a_context_holds_the_hits_as_stored_within_its_budget(asked: KnowledgeBase, budget: int) -> None:
    question = "local data share of a compute unit"

    context = asked.context(question, target="mi300x", budget_tokens=budget)

    found = asked.search(question, target="mi300x", limit=CONTEXT_CANDIDATES)
    packed = {p.citation.id for p in context.passages}
    assert context.tokens <= budget
    assert len(context.text) <= 4 * budget
    assert [asked.catalog.passage(p.citation.id) for p in context.passages] == list(context.passages)
    assert {c.id for c in context.left_out} | packed >= set(ids(found))
    assert not {c.id for c in context.left_out} & packed


def test_the_budget_of_a_context_is_the_setting_unless_given(asked: KnowledgeBase) -> None:
    own = KnowledgeBase(
        Settings.load(asked.settings.home).model_copy(update={"budget_tokens": 123}), embedder=HashEmbedder()
    )

    with own:
        assert own.context("memory").budget_tokens == 123
        assert own.context("memory", budget_tokens=77).budget_tokens == 77


def test_rows_of_two_chips_that_differ_in_a_number_both_live_in_a_context_for_all(asked: KnowledgeBase) -> None:
    text = asked.context("KB of local data share (LDS) each compute unit has", budget_tokens=4000).text

    assert "Each compute unit has 64 KB of local data share" in text
    assert "Each compute unit has 160 KB of local data share" in text


def test_a_citation_of_every_hit_opens(asked: KnowledgeBase, manuals: Path) -> None:
    hits = asked.search("local data share", target="mi300x", limit=10).hits

    places = [asked.cite(hit.passage.citation.id) for hit in hits]

    assert [place.citation for place in places] == [hit.passage.citation for hit in hits]
    assert all(place.file_exists and place.file_same for place in places)
    assert str(manuals.resolve() / "mi300x" / "memory.md") in {place.file for place in places}
