"""A reader's answers become facts of a chip that nobody prepared: checked, cited, kept, and held when accepted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.facts.resolution import FactDecision, FactStanding
from kb.settings import Settings
from kb.types.fact import FactAnswer
from kb.usecases import fact_reading
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.facts import facts
from synth.authors.author import AuthorError, Outcome
from synth.authors.spending import Budget
from tests.synth.scripted import ScriptedAuthor, desk_of

MANUAL = """# Zchip manual

## Memory

Each cluster has 128 KiB of tightly coupled memory in 32 banks.

The DMA memory of the host side has 64 KiB.

| Part | Size (KiB) |
|---|---|
| Scratch | 48 |
"""
SIZE = FactAnswer(quantity="tcm_size", value="128", unit="KiB", quote="128 KiB of tightly coupled memory")
OTHER_SIZE = FactAnswer(quantity="tcm_size", value="64", unit="KiB", quote="host side has 64 KiB")


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    (tmp_path / "zchip").mkdir()
    (tmp_path / "zchip" / "manual.md").write_text(MANUAL)
    with KnowledgeBase(Settings(home=tmp_path / "home", embedding_model="none")) as kb:
        kb.ingest([tmp_path / "zchip"])
        yield kb


def standing(kb: KnowledgeBase, key: str) -> FactStanding:
    return next(s.standing for s in kb.standings("zchip") if s.fact.citation.id == key)


def test_a_quoted_value_is_stored_with_its_place_and_holds_once_all_are_accepted(kb: KnowledgeBase) -> None:
    [fact] = kb.answer_facts("zchip", [SIZE]).stored

    assert (fact.amount, fact.citation.line_start) == (128 * 1024, 5)
    assert standing(kb, fact.citation.id) is FactStanding.UNCONFIRMED
    assert kb.factbook.accept_answers("zchip") == [fact]
    assert standing(kb, fact.citation.id) is FactStanding.HOLDS
    assert [f.value for f in kb.facts("zchip", "tcm_size")] == ["128"]


def test_no_fact_is_guessed_from_prose_or_from_a_table_without_the_header_of_facts(kb: KnowledgeBase) -> None:
    assert kb.catalog.facts(["zchip"]) == []


def test_the_unit_may_stand_in_the_header_of_the_table(kb: KnowledgeBase) -> None:
    answer = FactAnswer(quantity="scratch", value="48", unit="KiB", quote="Scratch 48")
    assert kb.answer_facts("zchip", [answer]).refused == ()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"quote": "256 KiB of tightly coupled memory"}, "no document of zchip has the words"),
        ({"quote": "each"}, "no document of zchip has the words"),
        ({"passage": "aaaaaaaaaaaa"}, "no passage has the id"),
        ({"target": "mi300x"}, "'mi300x' is not zchip nor a relative of it"),
        ({"target": "nochip"}, "'nochip' is not zchip nor a relative of it"),
        ({"value": "129"}, "does not hold the number"),
        ({"unit": "GiB"}, "states 128 in KiB, not in GiB"),
    ],
)
def test_an_answer_that_cannot_be_checked_is_refused_with_the_reason(
    kb: KnowledgeBase, changed: dict[str, str], reason: str
) -> None:
    found = kb.answer_facts("zchip", [SIZE.model_copy(update=changed), SIZE])

    assert [r.reason for r in found.refused if reason in r.reason]
    assert [f.value for f in found.stored] == ["128"]


def test_the_same_answer_twice_is_one_fact(kb: KnowledgeBase) -> None:
    assert len(kb.answer_facts("zchip", [SIZE, SIZE]).stored) == 1
    kb.factbook.accept_answers("zchip")
    assert len(kb.answer_facts("zchip", [SIZE]).stored) == 1
    assert [f.value for f in kb.facts("zchip", "tcm_size")] == ["128"]
    assert sum(s.fact.quantity == "tcm_size" for s in kb.standings("zchip")) == 1


def test_all_answers_are_accepted_at_once_but_for_values_that_contradict_each_other(kb: KnowledgeBase) -> None:
    alone = FactAnswer(quantity="tcm_banks", value="32", unit="1", quote="in 32 banks")
    found = kb.answer_facts("zchip", [SIZE, OTHER_SIZE, alone])

    assert len(kb.factbook.accept_answers("zchip")) == 1
    assert [(c.quantity, len(c.sides)) for c in found.contradictions] == [("tcm_size", 2)]
    assert [f.quantity for f in kb.facts("zchip", "tcm_banks")] == ["tcm_banks"]


TABLE = "| Property | Value |\n|---|---|\n| Maximum registers per thread | 128 |"
ROWS = "| Property | Value |\n|---|---|\n| Subgroup width | 32 lanes |"
WIDTH = FactAnswer(quantity="wavefront_size", value="32", unit="lanes", quote="Subgroup width | 32 lanes")
REGISTERS = FactAnswer(quantity="vgprs_max", value="112", condition="per thread", quote="112 registers")
ERRATA = {
    "words": ("Each cluster has 96 KiB of tightly coupled memory.", "says of it: Each cluster has 96 KiB"),
    "a table that has to be confirmed": ("| Property | Zchip |\n|---|---|\n| Cores | 7 |", "states 7"),
    "without another number": ("The tightly coupled memory may lose 128 KiB.", ""),
    "of another quantity": ("The L2 cache has 96 KiB.", ""),
    "the label of the row": ("The subgroup width is 16 lanes.", "says of it: The subgroup width is 16"),
    "the number that is wrong": ("Subgroup: 16 lanes, instead of the 32 of the guide.", "says of it: Subgroup: 16"),
    "a heading": ("## E2: subgroup width\n\nIt is 16 and not 32.", "says of it: E2: subgroup width: It is 16"),
    "an underlined heading": ("Subgroup width\n--------------\n\nIt is 16.", "says of it: Subgroup width"),
    "another name of the quantity": ("A warp has 16 lanes. Wave size: 16.", "says of it: A warp has 16"),
    "the chip and another row": ("The Zchip has 16 lanes of PCIe.", ""),
}


@pytest.mark.parametrize(("erratum", "why"), ERRATA.values(), ids=ERRATA)
def test_an_answer_that_an_erratum_contradicts_is_left_to_a_person(
    kb: KnowledgeBase, tmp_path: Path, erratum: str, why: str
) -> None:
    (tmp_path / "zchip" / "errata.md").write_text(f"# Zchip errata\n\n{erratum}\n")
    (tmp_path / "zchip" / "cores.md").write_text("# Zchip overview\n\nThe chip has 8 cores.\n")
    (tmp_path / "zchip" / "width.md").write_text(f"# Zchip guide\n\n{ROWS}\n")
    kb.ingest([tmp_path / "zchip"])
    cores = FactAnswer(quantity="compute_units", value="8", quote="has 8 cores")
    found = {fact.quantity: fact for fact in kb.answer_facts("zchip", [SIZE, cores, WIDTH]).stored}

    accepted = kb.factbook.accept_answers("zchip")
    left = [*kb.factbook.waiting_answers("zchip")]

    assert {*accepted, *(fact for fact, _ in left)} == {*found.values()}
    assert len(left) == bool(why)
    assert all(why in doubt for _, doubt in left)
    for fact, _ in left:
        kb.factbook.decide(fact.citation.id, FactDecision.ACCEPTED)
    assert [*kb.factbook.waiting_answers("zchip")] == []


def test_a_decision_is_shown_with_its_date_and_reason(kb: KnowledgeBase) -> None:
    [fact] = kb.answer_facts("zchip", [SIZE]).stored
    for decision in FactDecision:
        kb.factbook.decide(fact.citation.id, decision, reason="read it twice")
        [why] = [s.why for s in kb.standings("zchip") if s.fact == fact]
        assert why.startswith(f"{decision} 20")
        assert why.endswith(": read it twice")
        assert decision is FactDecision.REJECTED or why == facts(kb, "zchip", "tcm_size").facts[0].why


def test_a_second_accepted_value_needs_a_condition_in_its_answer_that_tells_the_two_apart(kb: KnowledgeBase) -> None:
    first, second = kb.answer_facts("zchip", [SIZE, OTHER_SIZE]).stored
    for fact in (first, second):
        done = kb.factbook.decide(fact.citation.id, FactDecision.ACCEPTED)
    assert done.standing is FactStanding.CONFLICT

    kb.factbook.decide(second.citation.id, FactDecision.REJECTED)
    [again] = kb.answer_facts("zchip", [OTHER_SIZE.model_copy(update={"condition": "host side"})]).stored
    kb.factbook.decide(again.citation.id, FactDecision.ACCEPTED)

    assert {(f.value, f.condition) for f in kb.facts("zchip", "tcm_size")} == {("128", ""), ("64", "host side")}


def test_a_document_that_is_read_again_keeps_the_answers_that_it_still_states(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    kb.answer_facts("zchip", [SIZE, OTHER_SIZE])
    kb.factbook.accept_answers("zchip")
    (tmp_path / "zchip" / "manual.md").write_text(
        "# Foreword\n\nNew.\n\n" + MANUAL.replace("host side has", "host has")
    )
    kb.ingest([tmp_path / "zchip"])

    [fact] = [s.fact for s in kb.standings("zchip") if s.fact.quantity == "tcm_size"]
    assert (fact.value, fact.citation.line_start) == ("128", 9)
    assert fact.citation.section[-1] == "Memory"


def test_questions_are_asked_until_facts_hold_and_carry_passages(kb: KnowledgeBase) -> None:
    [sizes] = [q for q in kb.fact_questions("zchip", topic="memory") if "Which memories" in q.line.asks]
    assert "128 KiB of tightly coupled memory" in sizes.passages[0].body

    kb.answer_facts("zchip", [SIZE.model_copy(update={"quantity": "scratchpad_size"})])
    kb.factbook.accept_answers("zchip")
    [known] = [q for q in kb.fact_questions("zchip", topic="memory") if q.line == sizes.line]
    assert ([f.quantity for f in known.holds], known.passages) == (["scratchpad_size"], ())
    [more] = [q for q in kb.fact_questions("zchip", topic="memory", everything=True) if q.line == sizes.line]
    assert (more.holds, more.passages) == (known.holds, sizes.passages)


def test_answers_that_were_paid_for_are_stored_when_the_model_stops(kb: KnowledgeBase) -> None:
    paid = SIZE.model_dump_json(exclude={"target", "passage"}) + '\n{"quantity": '
    model = ScriptedAuthor(paid, AuthorError("no credit", Outcome.KEY_REFUSED))
    found = fact_reading.ask_authors(kb, "zchip", desk_of(model))

    assert ([f.quantity for f in found.stored], found.unreadable) == (["tcm_size"], 1)
    assert "no credit" in found.stopped
    assert (len(model.asked), bool(found.unread)) == (2, True)
    with pytest.raises(AuthorError):
        fact_reading.ask_authors(kb, "zchip", desk_of(model))


def test_accepted_answers_about_relatives_of_the_target_hold_too(kb: KnowledgeBase) -> None:
    kb.target_tree.add("zchip2", parent="zchip")
    [fact] = kb.answer_facts("zchip", [SIZE.model_copy(update={"target": "zchip2"})]).stored

    assert kb.factbook.accept_answers("zchip2") == [fact]
    assert [f.target for f in kb.facts("zchip2", "tcm_size")] == ["zchip2"]


def test_a_range_and_its_default_hold_beside_each_other(kb: KnowledgeBase) -> None:
    both = [
        FactAnswer(quantity="tcm_size", value="32 to 128", unit="KiB", quote="128 KiB of tightly coupled memory in 32"),
        SIZE.model_copy(update={"condition": "default"}),
    ]
    found = kb.answer_facts("zchip", both)

    assert (len(kb.factbook.accept_answers("zchip")), found.contradictions) == (2, ())
    assert {(f.value, f.number, f.condition) for f in kb.facts("zchip", "tcm_size")} == {
        ("32 to 128", None, ""),
        ("128", 128.0, "default"),
    }


def test_a_model_answers_question_by_question_within_its_budget(kb: KnowledgeBase) -> None:
    model = ScriptedAuthor(SIZE.model_dump_json(exclude={"target", "passage"}), "")
    found = fact_reading.ask_authors(kb, "zchip", desk_of(model, budget=Budget(tokens=24_000)))

    assert len(found.stored) == 1
    assert len(model.asked) < len(list(kb.fact_questions("zchip", everything=True)))
    assert fact_reading.ask_authors(kb, "zchip", desk_of(ScriptedAuthor(""), budget=Budget(tokens=100))).unread


def test_an_accepted_answer_outlives_a_new_place_of_its_file(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.answer_facts("zchip", [SIZE])
    kb.factbook.accept_answers("zchip")

    (tmp_path / "zchip" / "v2").mkdir()
    moved_file = (tmp_path / "zchip" / "manual.md").rename(tmp_path / "zchip" / "v2" / "manual.md")
    moved = kb.ingest([tmp_path / "zchip"])
    moved_file.write_text(f"{MANUAL}\nMore.\n")
    changed = kb.ingest([tmp_path / "zchip"])

    assert [f.outcome for f in (*moved.files, *changed.files)] == ["moved", "changed"]
    assert [d.path for d in kb.documents.stored("zchip")] == ["zchip/v2/manual.md"]
    assert [f.value for f in kb.facts("zchip", "tcm_size")] == ["128"]


def test_the_named_passage_decides_which_of_several_equal_places_is_cited_also_when_it_is_read_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "zchip").mkdir()
    text = "# Zchip\n\n## Loads\n\nA load takes 4 cycles.\n\n## Stores\n\nA store takes 4 cycles.\n"
    (tmp_path / "zchip" / "manual.md").write_text(text)
    with KnowledgeBase(Settings(home=tmp_path / "home", embedding_model="none")) as kb:
        kb.ingest([tmp_path / "zchip"])
        stores = next(p for p in kb.documents.outline("manual.md", section="Stores").passages)
        answer = FactAnswer(quantity="store_latency", value="4", unit="cycles", quote="takes 4 cycles")
        [unclear] = kb.answer_facts("zchip", [answer]).refused
        [fact] = kb.answer_facts("zchip", [answer.model_copy(update={"passage": stores.citation.id})]).stored
        (tmp_path / "zchip" / "manual.md").write_text(f"# Foreword\n\n{text}")
        kb.ingest([tmp_path / "zchip"])
        [again] = kb.factbook.unconfirmed("zchip")

    assert "has the words 'takes 4 cycles' 2 times: quote more of them, or name the passage" in unclear.reason
    assert (fact.citation.line_start, again.citation.line_start) == (9, 11)


def test_an_answer_from_an_erratum_waits_for_a_person_and_then_outranks_a_table(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "zchip" / "errata.md").write_text("# Zchip errata\n\nA thread has 112 registers.\n")
    (tmp_path / "zchip" / "guide.md").write_text(f"# Zchip guide\n\n{TABLE}\n")
    kb.ingest([tmp_path / "zchip"])
    [fact] = kb.answer_facts("zchip", [REGISTERS]).stored

    assert [c.state for c in kb.factbook.conflicts("zchip")] == ["not confirmed"]
    assert kb.factbook.accept_answers("zchip") == [fact]
    assert [f.value for f in kb.facts("zchip", "vgprs_max")] == ["112"]
    [settled] = kb.factbook.conflicts("zchip")
    assert (settled.state, {s.standing for s in settled.sides}) == (
        "settled",
        {FactStanding.HOLDS, FactStanding.GIVES_WAY},
    )


def test_a_rule_that_settles_a_conflict_with_an_unconfirmed_answer_is_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "zchip" / "note.md").write_text("# Zchip note\n\nA thread has 112 registers.\n")
    (tmp_path / "zchip" / "guide.md").write_text(f"# Zchip guide\n\n{TABLE}\n")
    kb.ingest([tmp_path / "zchip"])
    kb.answer_facts("zchip", [REGISTERS])

    [settled] = kb.factbook.conflicts("zchip")
    assert (settled.state, {s.why for s in settled.sides}) == ("settled", {"", "a table outranks a reader's answer"})


def test_errata_in_which_nobody_has_read_a_fact_are_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "zchip" / "errata.md").write_text("# Zchip errata\n\nA thread has 112 registers.\n")
    kb.ingest([tmp_path / "zchip"])
    kb.answer_facts("zchip", [SIZE])
    kb.factbook.accept_answers("zchip")
    assert facts(kb, "zchip").notes == ("no fact was read in zchip/errata.md: `kb facts ask zchip`",)

    kb.answer_facts("zchip", [REGISTERS])
    assert facts(kb, "zchip").notes == ()
