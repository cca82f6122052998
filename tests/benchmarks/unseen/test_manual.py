"""Rules for the documents of an unseen chip."""

from pathlib import Path, PurePosixPath

import pytest

from benchmarks.unseen.assembly import assemble
from benchmarks.unseen.chip import chip
from benchmarks.unseen.gold import QUESTIONS, contradictions, facts, needed, questions
from benchmarks.unseen.instructions import Op
from benchmarks.unseen.make import DOCUMENTS, make
from benchmarks.unseen.manual.chapters import use_of
from benchmarks.unseen.manual.document import Bullets, Code, Document, Format, Note, Paragraph, Section, Table, texts
from benchmarks.unseen.manual.library import Trap, library
from benchmarks.unseen.manual.scribe import Scribe
from benchmarks.unseen.manual.statements import names_of
from benchmarks.unseen.manual.wording import Wording
from benchmarks.unseen.manual.writers import written
from ingest.chunk import chunk
from ingest.readers import read
from kb.bench.questions import GoldPassage, Question

FEW = range(4)
BLOCKS = (
    Section(
        "Memory", (Paragraph("The `vok` has 4 banks."), Section("Inner", (Note("Careful `x`."), Code("ld r1, 4"))))
    ),
    Bullets(("first `a`", "second")),
    Table(("Of", "Value"), (("`a`", "1 < 2"), ("b", "3 & 4")), "Sizes"),
)


def read_text(path: Path, root: Path) -> str:
    return read(path, path.read_bytes(), root=root).text.replace("`", "")


@pytest.mark.parametrize("format_", list(Format))
def test_each_format_keeps_all_text(format_, tmp_path):
    if format_ is Format.PDF:
        pytest.importorskip("reportlab")
    blocks = BLOCKS[-1:] if format_ is Format.CSV else BLOCKS
    document = Document(PurePosixPath(f"guide.{format_}"), "Guide", "1.0", blocks)
    path = tmp_path / document.path
    path.write_bytes(written(document))
    text = read_text(path, tmp_path)
    assert [
        t for t in texts(blocks) if t.replace("`", "") not in text and (format_ is not Format.CSV or t != "Sizes")
    ] == []


@pytest.mark.parametrize("seed", FEW)
def test_every_fact_is_stated_and_only_in_documents_of_the_chip(seed):
    made = library(seed)
    stated = {place.key for place in made.places}
    assert made.facts.keys() <= stated
    own = f"{made.chip.names.family}/{made.chip.names.chip}/".lower()
    assert all(place.path.startswith(own) and "draft" not in place.path for place in made.places)


@pytest.mark.parametrize("seed", FEW)
def test_one_passage_as_kb_reads_it_holds_each_gold_string(seed, tmp_path):
    pytest.importorskip("reportlab")
    made = make(seed, tmp_path)
    root = tmp_path / DOCUMENTS
    passages = {}
    for path in {place.path for place in made.places}:
        parsed = read(root / path, (root / path).read_bytes(), root=root)
        passages[path] = [f"{one.heading}\n{one.body}" for one in chunk(parsed, title=path, tokenizer=None)]
    missing = [
        place
        for place in made.places
        if not any(
            Question(id="", query="", evidence=(GoldPassage(path=place.path, must=place.must),)).is_answered_by(
                text, (place.path,)
            )
            for text in passages[place.path]
        )
    ]
    assert missing == []


def test_the_documents_of_a_seed_have_150_to_400_pages_in_all_six_formats():
    for seed in FEW:
        documents = library(seed).documents
        assert {document.format for document in documents} == set(Format)
        assert 150 <= sum(document.pages for document in documents) <= 400
        assert len({document.path for document in documents}) == len(documents)


def test_documents_of_two_seeds_share_no_names():
    words = [{word for word in names_of(chip(seed)).values() if len(word) > 2} for seed in FEW]
    texts_of = [" ".join(t for d in library(seed).documents for t in texts(d.blocks)).lower() for seed in FEW]
    for seed, own in enumerate(words):
        assert all(word.lower() in texts_of[seed] for word in own)
        for other in FEW:
            assert other == seed or not [w for w in own - words[other] if len(w) > 4 and w.lower() in texts_of[other]]


def test_a_seed_gives_the_same_files_each_time_and_two_seeds_other_wordings():
    first, again, other = library(1), library(1), library(2)
    assert first.documents == again.documents
    assert questions(first) == questions(again)
    plain = [
        {place.text.replace(place.value, "") for place in made.places if "advice" in place.key}
        for made in (first, other)
    ]
    assert plain[0] != plain[1]


@pytest.mark.parametrize("seed", FEW)
def test_the_errata_state_what_holds_and_the_text_what_they_correct(seed):
    made = library(seed)
    wrong = {f"{erratum.part}.{erratum.name}" for erratum in made.chip.errata}
    corrected = {place.key for place in made.places if "errata" in place.path}
    assert wrong <= corrected
    assert {place.key for place in made.traps[Trap.MISPRINT]} == wrong
    hidden = {f"hazard.{hazard.kind.name.lower()}" for hazard in made.chip.hazards if hazard.in_errata_only}
    assert corrected == wrong | hidden


@pytest.mark.parametrize("seed", FEW)
def test_contradictions_contradict_what_holds(seed):
    made = library(seed)
    right = {(place.key, place.must) for place in made.places}
    planted = contradictions(made)
    assert {row["kind"] for row in planted} == {Trap.MISPRINT, Trap.REPEATED, Trap.DRAFT}
    assert [row for row in planted if (row["id"], row["must"]) in right] == []


@pytest.mark.parametrize("seed", FEW)
def test_a_fifth_of_the_questions_has_no_answer_in_the_documents_of_the_chip(seed):
    asked = questions(library(seed))
    assert len(asked) == len({row["id"] for row in asked}) == QUESTIONS
    unanswerable = [row for row in asked if row["kind"] == "unanswerable"]
    assert len(unanswerable) == QUESTIONS // 5
    assert all(bool(row["evidence"]) is not (row in unanswerable) for row in asked)
    assert sum("sibling" in row["traps"] for row in unanswerable) == len(unanswerable) // 2


@pytest.mark.parametrize("seed", FEW)
def test_gold_facts_have_a_value_that_one_of_their_passages_states(seed):
    for row in facts(library(seed)):
        assert row["evidence"]
        assert all(row["value"].lower() in place["text"].lower() for place in row["evidence"])


@pytest.mark.parametrize("op", list(Op))
def test_the_use_that_the_section_of_an_instruction_shows_is_accepted_by_the_assembler(op):
    own = chip(5)
    by = Scribe(own, PurePosixPath("x.md"), Wording(5, "test"), {})
    assert len(assemble(own, f"again:\n{use_of(by, op)}").steps) == 1


def test_tasks_need_facts_that_exist_and_only_tasks_with_products_need_the_matrix_unit():
    made = library(2)
    tasks = needed(made)
    assert all(set(keys) <= made.facts.keys() for keys in tasks.values())
    assert "matrix.rows" in tasks["matmul"]
    assert "matrix.rows" not in tasks["scaled-add"]
    assert "load.latency" in tasks["scaled-add"]
