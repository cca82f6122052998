"""An excerpt shows whole sentences, rows and lines, those that answer among them, and marks what it leaves out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.types.passages import Citation, Hit, Passage, ScoreParts, SearchResult, Status, TableRow
from retrieval import excerpt
from retrieval.excerpt import LEFT_OUT, SEARCH_CHARACTERS, with_excerpts

STAGES = ["decode", "fetch", "issue", "retire", "commit", "rename", "replay", "select", "wakeup", "drain", "flush"]
FILLER = [
    f"The {stage} stage takes its operands from the queue in front of it and never stalls, whatever the others do."
    for stage in STAGES * 2
]


def hit(text: str, *, kind: str = "text", lead: str = "", score: float = 0.0, rows: tuple[TableRow, ...] = ()) -> Hit:
    citation = Citation(id="0" * 12, path="a.md", sha256="0" * 64, section=(), line_start=1, line_end=2)
    passage = Passage(citation=citation, target="mi300x", title="Guide", kind=kind, lead=lead, text=text)
    return Hit(passage=passage, score=score, why=ScoreParts(lexical=1.0, dense=None, phrasings=1), rows=rows)


def shown(question: str, *hits: Hit, characters: int = SEARCH_CHARACTERS) -> list[str]:
    """The excerpts of the hits."""
    found = with_excerpts(SearchResult(status=Status.OK, hits=hits), [question], [characters])
    return ["\n".join(hit.excerpt) for hit in found.hits]


def among(sentence: str) -> Hit:
    """A passage with `sentence` near the end, behind more than an excerpt has room for."""
    return hit("\n".join([*FILLER[:-1], sentence, FILLER[-1]]))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("speed of bf16", "A product of bfloat16 operands retires each cycle."),
        ("speed of bfloat16", "A product in BF16 retires each cycle."),
        ("what percent of the peak", "It reaches 87% there."),
        (
            "how many banks",
            "There are 16 of them, and each one serves a request of its own in each cycle, whatever the others do.",
        ),
        ("scratchpad size in KB", "It holds 64 KiB."),
        ("which bandwidth in GB/s", "It moves 1.6 TB/s in one direction."),
        ("limits of a barrier", "Two barriers exist."),
        ("do caches cohere", "The cache is shared."),
        ("how is mbarrier initialised", "Call `mbarrier.init` once."),
        ("requests for a 64x576 tile", r"A block of $64 \times 576$ takes nine."),
        ("mbarrier_init", "The `mbarrier.init` is first."),
    ],
)
def test_a_sentence_is_found_whatever_the_spelling(question: str, answer: str) -> None:
    assert answer in shown(question, among(answer))[0]


@given(st.lists(st.sampled_from(FILLER), min_size=1, max_size=30), st.integers(0, 30))
def test_the_sentence_that_matches_is_shown_whole_and_gaps_are_marked(others: list[str], at: int) -> None:
    sentence = "SearchFilter zebra crossings matter here."
    sentences = [*others[:at], sentence, *others[at:]]

    [text] = shown("zebra", hit("\n".join(sentences)))

    assert sentence in text
    in_a_row = [run.strip() for run in text.split(LEFT_OUT)]
    assert {s.strip() for run in in_a_row for s in re.findall(r"[^.]+\.", run)} <= set(sentences)
    assert [run for run in in_a_row if not run or run not in " ".join(sentences)] == []


def test_a_passage_that_fits_is_shown_whole_with_its_lines_joined_to_sentences() -> None:
    text = "The queue holds\nfour entries, e.g. Loads. It\ndrains in order.\n\n- first\n- second"

    assert shown("queue", hit(text)) == [
        "The queue holds four entries, e.g. Loads. It drains in order.\n- first\n- second"
    ]


HEADER = "| Unit | Banks |\n|---|---|\n"


def test_a_small_table_is_shown_whole_without_its_bars() -> None:
    rows = "".join(f"| unit{n} | {n} |\n" for n in range(3))

    assert shown("unit1", hit(HEADER + rows, kind="table")) == ["Unit | Banks\nunit0 | 0\nunit1 | 1\nunit2 | 2"]


def test_of_a_large_table_the_rows_that_match_are_shown_and_the_gaps_marked() -> None:
    rows = "".join(f"| unit{n} | {n} of {'many ' * 5}|\n" for n in range(100))

    [text] = shown("banks of unit77", hit(rows, kind="table", lead=HEADER.strip()))

    assert "Unit | Banks\n" in text
    assert f"\n{LEFT_OUT}\nunit77 | 77 of many" in text


PINS = [("Pin domain A", n) for n in range(12)] + [("Clock PLL", 3), ("Fuses OTP", 9), ("Port USB", 7)]


@pytest.mark.parametrize("question", ["PLL pin domain voltage", "PLL voltage", "voltage of domain A of the PLL pin"])
@pytest.mark.parametrize("form", ["row", "item", "line"])
def test_the_part_with_the_word_that_only_it_has_is_the_first_that_is_shown(question: str, form: str) -> None:
    written = {
        "row": HEADER + "".join(f"| {name} {n} | {n} V, {'as the board has it ' * 6}|\n" for name, n in PINS),
        "item": "".join(f"- {name} {n}: {n} V, {'as the board has it ' * 6}\n\n" for name, n in PINS),
        "line": "\n".join(
            ["```", *(f"set({name} {n}) = {n} V, {'as the board has it ' * 6}" for name, n in PINS), "```"]
        ),
    }
    passage = hit(written[form])
    above = passage.passage.model_copy(
        update={"citation": passage.passage.citation.model_copy(update={"section": ("Pin domain voltages",)})}
    )

    [text] = shown(question, passage.model_copy(update={"passage": above}), characters=150)

    assert "PLL" in text


def test_a_single_row_is_shown_with_its_headers_and_its_id() -> None:
    citation = Citation(id="abc", path="a.md", sha256="0" * 64, section=(), line_start=1, line_end=1)
    row = TableRow(citation=citation, cells=(("Unit", "a|b"), ("Banks", "8")))

    [text] = shown("unit", hit("| a\\|b | 8 |", kind="table", lead=HEADER.strip(), rows=(row,)))

    assert text == "Unit = a|b; Banks = 8 (row abc)"


def test_rows_that_differ_in_one_value_are_all_shown() -> None:
    """The first would not be taken for the answer, and the second left out because it says nothing new."""
    rows = "".join(f"| `mul`, `broadcast=={b}` | {n} TFLOP/s |\n" for b, n in (("false", 4), ("true", 5)))
    others = "".join(f"| other{n} | {'without a number ' * 5}|\n" for n in range(20))

    [text] = shown("TFLOP/s of mul with broadcast", hit(HEADER + rows + others, kind="table"))

    assert "broadcast==true` | 5 TFLOP/s" in text


def test_lines_of_code_keep_their_indentation() -> None:
    code = "\n".join(["```c", *(f"    step({n});" for n in range(200)), "    barrier_wait();", "```"])

    [text] = shown("barrier wait", hit(code, kind="code"))

    assert "    barrier_wait();" in text
    assert "```" not in text
    assert f"\n{LEFT_OUT}\n" in text


def test_a_passage_clearly_behind_has_no_excerpt() -> None:
    first, near, far = (among(f"{n} zebras.").model_copy(update={"score": -s}) for n, s in enumerate((0, 0.1, 4)))

    texts = shown("zebra", first, near, far)

    assert ["zebra" in text for text in texts] == [True, True, False]
    assert texts[2] == ""


@given(st.lists(st.integers(1, 300), min_size=1, max_size=6))
def test_the_pages_of_an_answer_have_every_sentence_once(pages: list[int]) -> None:
    found = SearchResult(status=Status.OK, hits=(among("A zebra."), among("Two zebras.")))
    pages = [*pages, 10**6]
    shown = [with_excerpts(found, ["zebra"], pages[:n]) for n in range(1, len(pages) + 1)]

    for rank, hit in enumerate(found.hits):
        lines = [line for page in shown for line in page.hits[rank].excerpt]
        sentences = [s.strip() for line in lines for s in re.findall(r"[^.]+\.", line.replace(LEFT_OUT, ""))]
        assert sorted(sentences) == sorted(hit.passage.text.split("\n"))


def test_a_licence_is_not_shown_unless_there_is_nothing_else() -> None:
    notice = "Copyright (c) 2025 Someone. All rights reserved."

    assert shown("rights", hit(f"// {notice}\n\nint rights;", kind="code")) == ["int rights;"]
    assert shown("rights", hit(notice)) == [notice]


def test_an_excerpt_is_not_much_longer_than_its_room() -> None:
    sentences = [f"Zebra number {n} crosses the road." for n in range(200)]

    [text] = shown("zebra", hit("\n".join(sentences)))

    assert len(text) < 1.2 * SEARCH_CHARACTERS


@pytest.mark.parametrize("text", ["", "```c\n```", "|---|", "[figure: a.png]", "|", "| a |\n| b |", "a. b", "x" * 5000])
@pytest.mark.parametrize("kind", ["text", "table", "code"])
def test_any_text_has_an_excerpt(text: str, kind: str) -> None:
    assert shown("a", hit(text, kind=kind)) is not None


def test_the_abbreviations_do_not_end_a_sentence() -> None:
    text = 'Queues (ex. Tensor engine) exist. See Fig. 3 (a). "Done." Next'

    assert [s.strip() for s in excerpt.SENTENCE.findall(text)] == [
        "Queues (ex. Tensor engine) exist.",
        "See Fig. 3 (a).",
        '"Done."',
        "Next",
    ]


def test_the_row_that_states_the_fact_is_shown_whatever_its_words() -> None:
    stated = " ".join(["LDS of each compute unit"] * 9)
    rows = "".join(f"| {name} | {n} |\n" for n, name in enumerate(["bank " * 9] * 40 + [stated]))
    citation = Citation(id="abc", path="a.md", sha256="0" * 64, section=(), line_start=1, line_end=1)
    row = TableRow(citation=citation, cells=(("Unit", stated), ("Banks", "40")))
    found = hit(HEADER + rows, kind="table", rows=(row,))
    stating = found.model_copy(update={"why": found.why.model_copy(update={"states": ("lds_banks",)})})

    assert [stated in text for text in shown("bank count", found) + shown("bank count", stating)] == [
        False,
        True,
    ]
