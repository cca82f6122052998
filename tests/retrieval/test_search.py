"""The rules of a search: which documents may answer, in which order, and when there is no answer."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kb.errors import DocumentError, QueryError, TargetError
from kb.settings import NO_MODEL, Settings
from kb.types.passages import SearchFilter, SearchResult, Status
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.search import CONTEXT_CANDIDATES
from tests.conftest import HashEmbedder, written_manuals

Add = Callable[..., None]

QUESTIONS = ["local data share of a compute unit", "160 KB", "LDS in KB", "Memory", "vector L1 cache"]


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_manuals(tmp_path_factory.mktemp("asked") / "manuals")


@pytest.fixture(scope="module")
def asked(manuals: Path) -> Iterator[KnowledgeBase]:
    """A home to ask only, with the manuals of mi300x and mi355x, and the sheets that ship for both."""
    with KnowledgeBase(Settings(home=manuals.with_name("home")), embedder=HashEmbedder()) as kb:
        kb.ingest([manuals])
        yield kb


@pytest.fixture
def add(kb: KnowledgeBase, tmp_path: Path) -> Add:
    """A function that ingests one document of a target."""

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


def test_a_sibling_s_passage_is_found_for_the_sibling_and_without_a_target(asked: KnowledgeBase) -> None:
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

    # Lexical only, because dense search always finds something.
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


def test_the_same_question_has_the_same_answer_when_repeated_and_after_reopening(asked: KnowledgeBase) -> None:
    answers = [asked.search(q, limit=30) for q in QUESTIONS]

    with KnowledgeBase(asked.settings, embedder=HashEmbedder()) as reopened:
        assert [reopened.search(q, limit=30) for q in QUESTIONS] == answers
    assert [asked.search(q, limit=30) for q in QUESTIONS] == answers


def test_a_search_gives_as_many_hits_as_asked_best_first(asked: KnowledgeBase) -> None:
    many, few = asked.search("memory", limit=20), asked.search("memory", limit=4)

    scores = [hit.score for hit in many.hits]
    assert scores == sorted(scores, reverse=True)
    assert (len(many.hits), len(few.hits)) == (20, 4)


@pytest.mark.parametrize("name", ["v_mfma_f32_32x32x8_f16", "mfma", "32x32x8", "V_MFMA_F32_32X32X8_F16"])
def test_an_instruction_is_found_by_its_name_and_by_its_parts(asked: KnowledgeBase, name: str) -> None:
    result = asked.search(name, target="mi355x", limit=20)

    assert "Multiplies two half precision matrices" in "".join(hit.passage.text for hit in result.hits)


def test_a_target_without_documents_is_insufficient_and_the_note_lists_targets_that_have_some(
    asked: KnowledgeBase,
) -> None:
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
def test_a_context_holds_the_stored_passages_of_the_hits_within_its_budget(asked: KnowledgeBase, budget: int) -> None:
    question = "local data share of a compute unit"

    context = asked.context(question, target="mi300x", budget_tokens=budget)

    packed, left_out = [p.citation.id for p in context.passages], [c.id for c in context.left_out]
    assert context.tokens <= budget
    assert len(context.text) <= 4 * budget
    assert [asked.catalog.passage(p.citation.id) for p in context.passages] == list(context.passages)
    assert len({*packed, *left_out}) == len(packed) + len(left_out) <= CONTEXT_CANDIDATES
    assert ids(asked.search(question, target="mi300x"))[0] in {*packed, *left_out}


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("latency of TDPBSSD", "no document of mi300x mentions TDPBSSD"),
        ("latency of v_mfma_f32_32x32x9_f16", "similar names: v_mfma_f32_32x32x8_f16"),
        ("LDS (mi355x)", "mi355x, which is another target"),
        (["LDS of the XMX", "XMX memory"], "mentions XMX"),
    ],
)
def test_a_name_in_no_document_in_scope_gives_no_hits_and_a_note(
    asked: KnowledgeBase, question: str | list[str], said: str
) -> None:
    result = asked.search(question, target="mi300x")

    assert (result.status, result.hits) == (Status.INSUFFICIENT, ())
    assert said in " ".join(result.notes)


@pytest.mark.parametrize(
    "question",
    [
        "does a half-height tile fit into 64 KB of LDS",
        "MI-300X local data share",
        "mfma of 16x16x32 tiles in 32-bit",
        "two CUs and their local data share",
        ["LDS of the XMX", "local data share"],
    ],
)
def test_plain_words_shapes_and_names_that_another_phrasing_replaces_are_searched_for(
    asked: KnowledgeBase, question: str | list[str]
) -> None:
    assert asked.search(question, target="mi300x").status is Status.OK


def test_a_phrasing_with_an_unknown_name_refuses_no_other_and_is_noted(asked: KnowledgeBase) -> None:
    both = asked.search(["LDS of the XMX", "local data share"], target="mi300x")

    assert both.hits
    assert both.notes[0].startswith("no document of mi300x mentions XMX")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("target", ["mi300x", None])
def test_what_was_seen_makes_room_for_the_next(asked: KnowledgeBase, question: str, target: str | None) -> None:
    whole = ids(asked.search(question, target=target, limit=50))
    seen = frozenset(whole[::2])

    rest = ids(asked.search(question, target=target, only=SearchFilter(seen=seen), limit=50))

    assert seen.isdisjoint(rest)
    assert len(rest) > len(whole[1::2])
    assert rest[0] in whole[:3]


@pytest.mark.parametrize("name", ["isa.rst", "mi300x/isa.rst", "mi300x"])
def test_a_search_is_kept_to_a_document_or_folder(asked: KnowledgeBase, name: str) -> None:
    found = asked.search("local data share of half precision matrices", only=SearchFilter(within=(name,)), limit=50)

    assert found.hits
    assert {f"/{name}/" in f"/{hit.passage.citation.path}/" for hit in found.hits} == {True}


def test_a_search_kept_to_an_unknown_document_is_refused(asked: KnowledgeBase) -> None:
    with pytest.raises(DocumentError, match="is called 'mi300x/isa'"):
        asked.search("local data share", only=SearchFilter(within=("mi300x/isa",)))


def test_a_search_for_amounts_finds_tables_and_numbers_with_what_they_count(kb: KnowledgeBase, add: Add) -> None:
    texts = {"a": "It has 16 banks.", "b": "It has 64 KiB.", "c": "See banks in part 3.", "d": "Banks of v2.1.7."}
    for name, text in {**texts, "e": "| Unit | Banks |\n|---|---|\n| LDS | many |"}.items():
        add("mi210", f"# Banks\n\n{text}\n", name)

    found = kb.search("banks", target="mi210", only=SearchFilter(numbers=True), limit=50).hits

    assert {hit.passage.citation.path[-4] for hit in found if "hardware_docs" not in hit.passage.citation.path} == {
        *"abe"
    }


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ("local data share in KB", True),
        ("bandwidth of the local data share in GB/s", False),
        ("local data share", True),
        ("how many cycles does the local data share take", False),
    ],
)
def test_a_question_for_a_number_in_a_unit_needs_a_passage_with_such_a_number(
    asked: KnowledgeBase, question: str, answered: bool
) -> None:
    result = asked.search(question, target="cdna3")

    assert (result.status is Status.OK) is answered
    assert any("together with a number in" in note for note in result.notes) is not answered


def test_a_comparison_includes_the_siblings_and_each_hit_names_its_target(asked: KnowledgeBase) -> None:
    compared = asked.search("local data share", target="mi300x", compare=True, limit=20)

    assert {"mi300x", "mi355x"} <= {hit.passage.target for hit in compared.hits}


def test_a_question_to_a_family_that_names_some_of_its_chips_is_limited_to_them_and_a_note_says_so(
    kb: KnowledgeBase, add: Add
) -> None:
    for chip in ("mi210", "mi250", "mi325x"):
        add(chip, f"# Prefetching\n\nPrefetching on {chip} is explicit.\n")

    one, two = kb.search("prefetching of MI-210", target="amd"), kb.search("prefetching, MI210 or MI250", target="amd")

    assert {hit.passage.target for hit in one.hits} == {"mi210"}
    assert {hit.passage.target for hit in two.hits} == {"mi210", "mi250"}
    assert one.notes == ("kb searched only mi210 of amd",)
    assert kb.search("prefetching of MI210", target="amd", compare=True).notes == ()


def test_if_the_chip_named_in_a_question_has_no_documents_the_note_names_it(kb: KnowledgeBase, add: Add) -> None:
    add("m1", "# Prefetching\n\nPrefetching is explicit.\n")

    result = kb.search("prefetching on the M4", target="apple")

    assert result.status is Status.INSUFFICIENT
    assert "no documents of m4" in result.notes[0]


def test_a_passage_about_a_sibling_is_marked(kb: KnowledgeBase, add: Add) -> None:
    add("mi210", "# Tuning\n\n## On MI250\n\nPrefetching is off.\n", "a")
    add("mi210", "# Tuning\n\n## On CDNA2\n\nPrefetching is on.\n", "b")

    about = {hit.passage.trail: hit.passage.about for hit in kb.search("prefetching", target="mi210").hits}

    assert about == {"Tuning > On MI250": ("mi250",), "Tuning > On CDNA2": ()}
    assert "On MI250 (speaks of mi250)" in kb.context("prefetching", target="mi210").text


def test_a_row_about_a_sibling_is_not_shown_as_an_answer(kb: KnowledgeBase, add: Add) -> None:
    rows = "\n".join(f"| {chip} | {chip[2:]} GB |" for chip in ("MI210", "MI250", "MI100"))
    add("mi210", f"# Memory\n\n| chip | capacity |\n|---|---|\n{rows}\n")

    [hit] = kb.search("memory capacity in GB", target="mi210").hits

    assert [row.shown for row in hit.rows] == ["chip = MI210; capacity = 210 GB"]


def test_the_first_hits_come_with_their_neighbouring_passages(kb: KnowledgeBase, add: Add) -> None:
    add("mi210", "# Barrier\n\n## Why\n\nA barrier of waves.\n\n## How\n\nCall sync.\n\n## When\n\nAfter a write.\n")

    hit = kb.search("barrier of waves", target="mi210").hits[0]

    assert hit.passage.text == "A barrier of waves."
    assert hit.shown.splitlines()[-1] == "After a write."
    assert "Barrier > How\nCall sync." in hit.shown


def test_rows_of_one_table_around_a_hit_share_one_header(kb: KnowledgeBase, add: Add) -> None:
    rows = "".join(f"| unit_{n} | {n} | KiB |  | guide |\n" for n in range(4))
    add("mi210", f"# Sizes\n\n| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n{rows}")

    hit = kb.search("unit_1", target="mi210").hits[0]

    assert hit.shown.count("| quantity |") == 1
    assert [line for line in hit.shown.splitlines() if line.startswith("| unit_")] == rows.splitlines()


def test_the_budget_of_a_context_comes_from_the_settings_unless_given(asked: KnowledgeBase) -> None:
    own = KnowledgeBase(
        Settings.load(asked.settings.home).model_copy(update={"budget_tokens": 123}), embedder=HashEmbedder()
    )

    with own:
        assert own.context("memory").budget_tokens == 123
        assert own.context("memory", budget_tokens=77).budget_tokens == 77


def test_a_context_without_a_target_keeps_both_of_two_chips_rows_that_differ_in_a_number(asked: KnowledgeBase) -> None:
    text = asked.context("KB of local data share (LDS) each compute unit has", budget_tokens=4000).text

    assert "Each compute unit has 64 KB of local data share" in text
    assert "Each compute unit has 160 KB of local data share" in text


def test_the_citation_of_every_hit_opens(asked: KnowledgeBase, manuals: Path) -> None:
    hits = asked.search("local data share", target="mi300x", limit=10).hits

    places = [asked.cite(hit.passage.citation.id) for hit in hits]

    assert [place.citation for place in places] == [hit.passage.citation for hit in hits]
    assert all(place.file_exists and place.file_same for place in places)
    assert str(manuals.resolve() / "mi300x" / "memory.md") in {place.file for place in places}
