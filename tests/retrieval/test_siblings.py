"""Two chips in one document: what it says of the other is no answer about this one, and no fact of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.errors import FactError
from kb.settings import Settings
from kb.siblings import Siblings
from kb.targets import Targets
from kb.types.fact import FactAnswer
from kb.usecases.knowledge_base import KnowledgeBase

FACTS = "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"

DOCUMENTS = {
    "sentences": ("md", "The memory of the Nox42 holds 80 KiB. It has 64 banks.\n\nThat of the Nox40 holds 512 KiB."),
    "a sentence that goes on": (
        "md",
        "The Nox42 is larger. Its memory holds 80 KiB.\n\nThe memory of the Nox40: 512 KiB.",
    ),
    "the other in contrast": (
        "md",
        "Unlike the Nox42, the memory holds 512 KiB.\n\nOn the Nox42 the memory holds 80 KiB.",
    ),
    "both compared": (
        "md",
        "The memory of Nox42, unlike that of the Nox40, holds 80 KiB.\n\nThe memory of Nox40 has 512 KiB.",
    ),
    "headings": ("md", "## Nox42\n\nThe memory holds 80 KiB.\n\n## Nox40\n\nThe memory holds 512 KiB."),
    "a heading below": ("md", "## Nox40\n\nMemory: 512 KiB.\n\n### Memory of Nox42\n\nThe memory holds 80 KiB."),
    "headings in HTML": (
        "html",
        "<h1>Manual</h1><h2>Nox42</h2><p>The memory holds 80 KiB.</p><h2>Nox40</h2><p>The memory holds 512 KiB.</p>",
    ),
    "columns": ("md", "| Property | Nox40 | Nox42 |\n|---|---|---|\n| Memory | 512 KiB | 80 KiB |"),
    "columns in HTML": (
        "html",
        "<h1>Manual</h1><table><tr><th>Property</th><th>Nox42</th><th>Nox40</th></tr>"
        "<tr><td>Memory</td><td>80 KiB</td><td>512 KiB</td></tr></table>",
    ),
    "columns in CSV": ("csv", "property,Nox40,Nox42\nmemory,512 KiB,80 KiB\n"),
    "rows": ("md", "| Chip | Memory |\n|---|---|\n| Nox42 | 80 KiB |\n| Nox40 | 512 KiB |"),
    "rows in CSV": ("csv", "chip,memory\nNox40,512 KiB\nNox42,80 KiB\n"),
    "cells": ("md", "| Property | Value |\n|---|---|\n| Memory | 512 KiB |\n| Memory, large | 80 KiB (Nox42 only) |"),
    "captions": (
        "md",
        "Table 1: Memory of the Nox42\n\n| Part | Size |\n|---|---|\n| memory | 80 KiB |\n\n"
        "The Nox40 has a memory of 512 KiB.",
    ),
    "lists": (
        "md",
        "On the Nox42:\n\n- the memory holds 80 KiB\n- it has banks\n\nOn the Nox40:\n\n- the memory holds 512 KiB",
    ),
    "list items": ("md", "Memory:\n\n- Nox42: 80 KiB\n- Nox40: 512 KiB"),
    "lists in items": ("md", "Memory:\n\n- Nox42\n    - in all 80 KiB\n- Nox40\n    - in all 512 KiB"),
    "lines in bold": ("md", "**Nox42**\n\nThe memory holds 80 KiB.\n\n**Nox40**\n\nThe memory holds 512 KiB."),
}


CLAUSES = {
    "numbers before the name": ("md", "It holds 80 KiB (16 KiB of them fast) on the Nox42.\n\nThe Nox40: 512 KiB."),
    "values by name": ("md", 'Memory: {SIZE: Nox42="80 KiB", Nox40="512 KiB"}'),
    "against each other": ("md", "The Nox40 has 512 KiB vs. the Nox42 with 80 KiB."),
    "in a section of the other": ("md", "## Nox42\n\nIt holds 80 KiB (16 KiB fast).\n\n## All\n\nThe Nox40: 512 KiB."),
}
"""Search shows such sentences whole; of their numbers only the target's are facts."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(Settings(home=tmp_path / "home", embedding_model="none")) as kb:
        yield kb


def ingested(
    kb: KnowledgeBase,
    folder: Path,
    text: str,
    ending: str = "md",
    *,
    known: bool = True,
    chips: tuple[str, str] = ("nox40", "nox42"),
) -> KnowledgeBase:
    """A home with a document of nox40 that also speaks of nox42; `known`: there are documents of nox42, too."""
    for chip, name, said in zip(chips, (f"manual.{ending}", "errata.md"), (text, "# Nox42\n\nNone.\n"), strict=True):
        if known or chip == chips[0]:
            (folder / chip).mkdir(parents=True)
            (folder / chip / name).write_text(said if ending != "md" else f"# Manual\n\n{said}\n")
    report = kb.ingest([folder])
    assert not [file for file in report.files if file.outcome != "new"]
    return kb


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize(("ending", "text"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_what_a_document_says_of_a_sibling_is_marked_and_never_first(
    home: KnowledgeBase, tmp_path: Path, ending: str, text: str, *, known: bool
) -> None:
    kb = ingested(
        home, tmp_path / "docs" if (tmp_path / "docs").mkdir() is None else tmp_path, text, ending, known=known
    )

    first, *others = kb.search("size of the memory", target="nox40").hits
    packed = kb.context("size of the memory", target="nox40").passages

    assert "512" in first.passage.text
    for passage in (first.passage, *(hit.passage for hit in others), *packed):
        assert "80" not in passage.text or passage.about == ("nox42",)
    assert "80" not in "".join(first.excerpt) + "".join(row.shown for row in first.rows)


@pytest.mark.parametrize("names", [("Nox40", "Nox42"), ("Zor7-A4", "Zor7-B2"), ("Zor-A4", "ZorB2")])
@pytest.mark.parametrize(("ending", "text"), (DOCUMENTS | CLAUSES).values(), ids=DOCUMENTS | CLAUSES)
def test_a_number_of_a_sibling_is_no_fact_of_the_target(
    home: KnowledgeBase, tmp_path: Path, ending: str, text: str, names: tuple[str, str]
) -> None:
    own, other = names
    text = text.replace("Nox40", own).replace("Nox42", other)
    kb = ingested(home, tmp_path / "docs", text, ending, chips=(own.lower(), other.lower()), known=own == "Nox40")
    whole = next(line for line in kb.catalog.text(next(iter(kb.catalog.states()))).splitlines() if "80 KiB" in line)

    answers = [
        FactAnswer(quantity="memory_size", value=value, unit="KiB", quote=quote)
        for value, quote in (("80", "80 KiB"), ("80", whole[:200]), ("512", "512 KiB"))
    ]
    answered = kb.answer_facts(own, answers)

    assert [fact.value for fact in answered.stored] == ["512"]
    assert {fact.value for fact in kb.catalog.facts([own.lower()])} <= {"512"}


@pytest.mark.parametrize("folder", ["nox42-vectors/reference", "nox42_vectors"])
def test_a_document_in_a_folder_of_a_sibling_is_about_the_sibling(
    home: KnowledgeBase, tmp_path: Path, folder: str
) -> None:
    for name, text in ((f"nox40/{folder}", "The memory holds 80 KiB."), ("nox40", "The memory holds 512 KiB.")):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "a.md").write_text(f"# Vectors\n\n{text}\n")
    home.ingest([tmp_path / "nox40"])

    answers = [FactAnswer(quantity="memory_size", value=n, unit="KiB", quote=f"{n} KiB.") for n in ("80", "512")]
    hits = home.search("size of the memory", target="nox40").hits

    assert [fact.value for fact in home.answer_facts("nox40", answers).stored] == ["512"]
    assert [hit.passage.about for hit in hits if "80 KiB." in hit.passage.text] == [("nox42",)]


@pytest.mark.parametrize("path", ["nox42/guide.md", "docs/nox42-and-later.md"])
def test_no_folder_or_file_overrules_the_target_that_the_user_gave(
    home: KnowledgeBase, tmp_path: Path, path: str
) -> None:
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text("# Manual\n\nThe memory holds 512 KiB.\n")
    home.ingest([tmp_path / path], target="nox40")

    answers = [FactAnswer(quantity="memory_size", value="512", unit="KiB", quote="512 KiB")]

    assert [fact.value for fact in home.answer_facts("nox40", answers).stored] == ["512"]


@pytest.mark.parametrize(
    ("lists", "stored"),
    [("It runs on Zor7, Zor7-A4 and Zor7-B2.\n\n", ["512"]), ("", ["80", "512"])],
    ids=["listed", "not listed"],
)
def test_what_the_names_of_a_series_begin_with_is_a_chip_if_the_documents_list_it_with_others(
    home: KnowledgeBase, tmp_path: Path, lists: str, stored: list[str]
) -> None:
    sections = "".join(f"## Part {n}\n\n{lists}Text.\n\n" for n in range(3))
    text = f"{sections}## Memory\n\nThe Zor7 running at 1 GHz has 80 KiB.\n\nZor7 chips have 512 KiB."
    kb = ingested(home, tmp_path / "docs", text, known=False, chips=("zor7-a4", "zor7-b2"))

    answers = [FactAnswer(quantity="memory", value=n, unit="KiB", quote=f"{n} KiB") for n in ("80", "512")]

    assert [fact.value for fact in kb.answer_facts("zor7-a4", answers).stored] == stored


@pytest.mark.parametrize(
    ("condition", "stored"),
    {
        "zor7b2": ["512"],
        "zor7": ["512"],
        "zor7b2 or zor7c1": ["512"],
        "zor7b2 or zor7a4": ["80", "512"],
        "not zor7b2": ["80", "512"],
        "not zor7 and not zor7b2": ["80", "512"],
        "not (zor7 or zor7b2)": ["80", "512"],
        "html": ["80", "512"],
    }.items(),
)
def test_a_block_with_a_condition_is_about_the_chips_of_the_condition(
    home: KnowledgeBase, tmp_path: Path, condition: str, stored: list[str]
) -> None:
    inside = "   Inside\n   ------\n\n   The memory holds 80 KiB.\n"
    text = f"Manual\n======\n\n.. only:: {condition}\n\n{inside}\nIn all 512 KiB.\n"
    kb = ingested(home, tmp_path / "docs", text, "rst", known=False, chips=("zor7-a4", "zor7-b2"))

    answers = [FactAnswer(quantity="memory", value=n, unit="KiB", quote=f"{n} KiB") for n in ("80", "512")]

    assert [fact.value for fact in kb.answer_facts("zor7-a4", answers).stored] == stored


@pytest.mark.parametrize(
    "text",
    [
        f"## Nox42 rates\n\nFor the vector unit:\n\n{FACTS}| clock_rate | 120 | MHz | peak | 4.3 |\n",
        f"The Nox42 has these rates:\n\n{FACTS}| clock_rate | 120 | MHz | peak | 4.3 |\n",
        f"{FACTS}| clock_rate | 120 | MHz | Nox42 | 4.3 |\n",
    ],
    ids=["heading", "line above", "row"],
)
def test_a_row_of_a_fact_table_belongs_to_the_chip_that_it_is_about(
    home: KnowledgeBase, tmp_path: Path, text: str
) -> None:
    own = f"\n## Rates of the Nox40\n\n{FACTS}| num_cores | 64 | count | | 5.1 |\n"
    kb = ingested(home, tmp_path / "docs", text + own)

    assert [(f.quantity, f.value) for f in kb.facts("nox40")] == [("num_cores", "64")]
    assert [(f.quantity, f.value) for f in kb.facts("nox42")] == [("clock_rate", "120")]


def test_a_row_about_a_chip_in_a_document_of_its_family_is_no_fact_of_the_other_chips(
    home: KnowledgeBase, tmp_path: Path
) -> None:
    tables = f"{FACTS}| clock_rate | 120 | MHz | | 4.3 |\n", f"{FACTS}| num_cores | 4 | count | | 5 |\n"
    text = f"# Nox\n\n## Nox42\n\n{tables[0]}\n## All\n\n{tables[1]}"
    for name, said in (("guide.md", text), ("nox40/a.md", "# Nox40\n"), ("nox42/a.md", "# Nox42\n")):
        (tmp_path / "nox" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "nox" / name).write_text(said)
    home.targets = home.targets.with_new("nox").with_new("nox40", parent="nox").with_new("nox42", parent="nox")
    home.targets.save()
    home.ingest([tmp_path / "nox"])

    assert [f.quantity for f in home.facts("nox40")] == ["num_cores"]
    assert {f.quantity for f in home.facts("nox42")} == {"num_cores", "clock_rate"}


def test_a_row_about_a_chip_that_nobody_knows_is_refused(home: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "nox40").mkdir()
    (tmp_path / "nox40" / "a.md").write_text(f"# A\n\n## Nox44\n\n{FACTS}| clock_rate | 120 | MHz | | 4.3 |\n")

    [file] = home.ingest([tmp_path / "nox40"]).files

    assert (file.facts, ["it is about nox44" in warning for warning in file.warnings]) == (0, [True])
    with pytest.raises(FactError):
        home.facts("nox40")


@pytest.mark.parametrize(
    ("text", "about"),
    {
        "The Nox42 has 8 banks": {"nox42"},
        "Like the Nox42, it has 8 banks": set(),
        "The Nox40 and the Nox42 have 8 banks": set(),
        "It has fewer banks than the Nox41 and the Nox42": set(),
        "Nox40 has 8 banks vs. 4 on the Nox42": set(),
        "Differences versus Nox42": set(),
        "Improvements vs. the Nox42": set(),
        "Versus the Nox42, it has 8 banks": set(),
        "It has fewer banks vs. the Nox42, but 4 ports": set(),
        "8 banks vs. the Nox42 with 4": {"nox42"},
        "The Nox family has 8 banks": set(),
        "A H100 has 8 banks": {"h100"},
        "A Cortex-M4 has 8 banks": set(),
        "Any chip has 8 banks": set(),
    }.items(),
)
def test_a_text_is_about_the_siblings_that_it_names_without_comparing(
    tmp_path: Path, text: str, about: set[str]
) -> None:
    assert (Siblings(Targets.load(tmp_path).with_new("nox40"), "nox40").named(text) or set()) == about


@pytest.mark.parametrize(
    ("text", "about"),
    {
        "The Zor7-B2 has 8 banks": {"zor7-b2"},
        "CONFIG_ZOR7B2_BANKS": {"zor7b2"},
        "Banks of Zor7-B1/B2": {"zor7-b1/b2"},
        "Banks of Zor7-B2/A4/C1": set(),
        "The Zor7-A4 and the Zor7-B2 have 8 banks": set(),
        "Zor7": {"zor7"},
        "Zor7 and Zor7-B2": {"zor7", "zor7-b2"},
        "The Zor7 has 8 banks": set(),
        "The Zor7 has 8 banks, the Zor7-B2 4": {"zor7", "zor7-b2"},
        "The Zor7 family, unlike Zor7-B2": set(),
        "Zor7 vector chips, not the Zor7-B2": set(),
        "A Zor7-XL board": set(),
    }.items(),
)
def test_what_stands_before_the_suffix_names_the_series_and_a_chip_beside_others_or_alone(
    tmp_path: Path, text: str, about: set[str]
) -> None:
    assert (Siblings(Targets.load(tmp_path).with_new("zor7-a4"), "zor7-a4").named(text) or set()) == about


@pytest.mark.parametrize(
    ("chip", "variants", "others"),
    [
        ("zor32h743", "Zor32H743xI Zor32H743ZI Zor32H743xx ZOR32H7 ZOR32H7xx_Driver", "ZOR32H750 Zor32F4xx"),
        ("zor55s69", "Zor55S69 Zor55S6x", "Zor55S2x"),
        ("zor32s3", "Zor32-S3FN", "Zor32-C3"),
        ("zor-a72", "Zor-A72 Zor-A7x", "Zor-A53"),
        ("zor3588", "Zor3588S Zor35xx", "Zor3568 Zor36xx"),
    ],
)
def test_a_variant_and_the_series_of_the_target_are_no_siblings(
    tmp_path: Path, chip: str, variants: str, others: str
) -> None:
    siblings = Siblings(Targets.load(tmp_path).with_new(chip), chip)

    assert not any(siblings.named(name) for name in variants.split())
    assert [siblings.named(name) for name in others.split()] == [{name.lower()} for name in others.split()]
