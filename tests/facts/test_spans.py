"""Each fact keeps the words it rests on: its span and its citation hold the digits of its value."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.usecases.knowledge_base import KnowledgeBase
from tests.facts.documents import PROPERTY, parse, records, table

CHIPS = st.sampled_from(["MI300X", "MI250", "MI-355X", "gfx942"])
SIZES = st.integers(2, 99_999)
WORDS = st.sampled_from(
    ["Text without a number.", "Some `code` and **bold** words – with signs: é, 中, 😀.", "- an item\n- another one",
     "```\nlds = 4096\n```", "| a | b |\n|---|---|\n| x | y |", "> quoted words", "# A heading", "### Another heading"],
)  # fmt: skip


def written(value: int) -> st.SearchStrategy[str]:
    return st.sampled_from([str(value), f"{value:,}", f"**{value}**"])


@st.composite
def statements(draw: st.DrawFn) -> str:
    """A piece of a document that states facts."""
    chip, other, value, second = draw(CHIPS), draw(CHIPS), draw(SIZES), draw(SIZES)
    number = draw(written(value))
    return draw(
        st.sampled_from(
            [
                f"The L2 cache of the {chip} is {number} MB.",
                f"Before it. Each compute unit of the {chip} has {number} KiB of LDS. After it.",
                f"- L2 cache: {number} MB\n- LDS: {second} KiB",
                table("Chip | L2 cache (MB)", f"{chip} | {number}", f"{other} | {second}"),
                table("Chip | L2 cache | LDS", f"[{chip}](a.md) | {number} MB | {second} KiB per CU"),
                table("Cache | Size", f"L2 cache | {number} MB<br>"),
                f"**L2 cache (MB)**\n\n{table('Chip | Value', f'{chip} | {number}')}",
                f"The systolic array of the {chip} is {value} x {second}.",
                f"```\nv_mfma_f32_{value}x{second}x8_f16 a[0:3]\n```",
            ]
        )
    )


DOCUMENTS = st.lists(st.one_of(WORDS, statements()), min_size=1, max_size=6).map("\n\n".join)


def digits(value: str, text: str) -> bool:
    """Whether `text` writes the value, with commas between thousands or blanks around the x of a shape."""
    pattern = r"\s?[x×]\s?".join(",?".join(re.escape(digit) for digit in part) for part in value.split("x"))
    return re.search(rf"(?<!\d){pattern}(?!\d)", text) is not None


@PROPERTY
@given(DOCUMENTS)
def test_the_span_of_a_fact_holds_the_digits_of_its_value(text: str) -> None:
    document = parse(text)

    for record in records(text):
        quote = document.text[record.start : record.end]
        assert digits(record.value, quote), (record, quote)
        assert record.number is None or record.number == float(record.value)


@PROPERTY
@given(DOCUMENTS)
def test_a_fact_lies_inside_its_section(text: str) -> None:
    document = parse(text)

    for record in records(text):
        if record.section is not None:
            section = document.sections[record.section]
            assert section.start <= record.start < record.end <= section.end


@PROPERTY
@given(statements(), WORDS, WORDS)
def test_text_before_and_after_a_fact_changes_only_its_span(piece: str, before: str, after: str) -> None:
    around = f"# Head\n\n{before}\n\n# Middle\n\n{piece}\n\n# Foot\n\n{after}"
    alone = f"# Middle\n\n{piece}"

    here, there = (
        [(r.target, r.quantity, r.value, r.unit, r.condition, parse(t).text[r.start : r.end]) for r in records(t)]
        for t in (alone, around)
    )

    assert here == there


def test_a_fact_cites_its_cell() -> None:
    text = table("Chip | L2 cache", "MI300X | **7 MB**")
    [record] = records(text)

    assert parse(text).text[record.start : record.end].strip() == "7 MB"


@pytest.mark.parametrize("power", [r"2^16", r"2^{16}"])
def test_a_power_is_a_plain_value_whose_quote_is_the_power(power: str) -> None:
    text = table("Chip | L2 cache (KiB)", f"MI300X | `{power}`")
    [record] = records(text)

    assert record.value == "65536"
    assert power in parse(text).text[record.start : record.end]


GUIDE = f"""# Guide of the chip

Words of an introduction.

## Memory

The first sentence says little. The LDS has a size of 65 KiB per
compute unit, which is
enough.

{table("Chip | L2 cache (MB) | Compute units", "MI300X | 7 | 301 (39 per XCD)", "MI250 | 8 | 102")}
- a list
- Wavefront size: 66

## Instructions

```
v_mfma_f32_33x34x8_f16
```
"""


def test_each_citation_opens_lines_of_the_file_that_contain_the_value(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "mi300x" / "guide.md"
    file.parent.mkdir()
    file.write_text(GUIDE, encoding="utf-8")
    kb.ingest([tmp_path / "mi300x"])
    facts = [f for f in kb.catalog.facts(None) if f.citation.path.endswith("guide.md")]
    lines = GUIDE.splitlines()

    assert {f.value for f in facts} >= {"7", "8", "301", "39", "102", "33x34x8"}
    for fact in facts:
        place = kb.cite(fact.citation.id)
        cited = [(number, line) for number, line, within in place.lines if within]
        stood = lines[fact.citation.line_start - 1 : fact.citation.line_end]
        assert digits(fact.value, "\n".join(line for _, line in cited)), fact
        assert digits(fact.value, "\n".join(stood)), fact
        assert next(number for number, line in cited if line.strip()) == fact.citation.line_start
        assert digits(fact.value, fact.quote)
        assert place.file_same
        assert place.file == str(file)


def test_facts_at_one_place_have_different_ids(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "mi300x").mkdir()
    rows = table("Chip | Compute units", "MI300X and MI325X | 301 (39 per XCD)")
    (tmp_path / "mi300x" / "guide.md").write_text(f"# Guide\n\n{rows}", encoding="utf-8")
    kb.ingest([tmp_path / "mi300x"])

    found = [f for f in kb.catalog.facts(None) if f.citation.path.endswith("guide.md")]

    assert len({f.citation.id for f in found}) == len(found) == 4
