"""Shared by the tests of ingest: fixture files, random documents, and the files of the corpus."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.facts import HEADER, facts
from ingest.readers import FORMATS, read
from kb.siblings import siblings_of
from kb.targets import Targets
from kb.types.records import FactRecord
from tests.conftest import CORPUS

PROPERTY = settings(derandomize=True, deadline=None, max_examples=20)
FIXTURES = Path(__file__).parent / "fixtures"
SAMPLE_FILES = 60


def facts_of(document: ParsedDocument, *, target: str) -> tuple[list[FactRecord], list[str]]:
    """The facts of the fact tables of a document about a target that ships with kb, and the refused rows."""
    title = document.sections[0].title if document.sections else ""
    return facts(document, title=title, siblings=siblings_of(Targets.load(Path("no-home")), target))


class Case(NamedTuple):
    title: str
    source: str
    expected: str


def cases(name: str) -> list[object]:
    """Read the cases of a fixture file: title, input and expected output, separated by lines with a single dot."""
    parts = f"\n{(FIXTURES / name).read_text(encoding='utf-8')}".split("\n.\n")
    triples = zip(parts[0::3], parts[1::3], parts[2::3], strict=False)
    found = [Case(title.strip(), source + "\n", expected) for title, source, expected in triples]
    return [pytest.param(case, id=case.title) for case in found]


def show(document: ParsedDocument) -> str:
    """List line in the file, kind, section and text of each line of each block, then the warnings."""
    shown = []
    first = 0
    for block in document.blocks:
        first = document.text.count("\n", 0, block.start)
        for number, line in zip(
            document.lines[first:], document.text[block.start : block.end].split("\n"), strict=False
        ):
            if line.strip():
                shown.append(f"{number} {block.kind} §{' > '.join(trail(document, block.section))}: {line}".rstrip())
    return "\n".join([*shown, *(f"warning: {w.splitlines()[0]}" for w in document.warnings)])


def trail(document: ParsedDocument, section: int | None) -> list[str]:
    if section is None:
        return []
    return [*trail(document, document.sections[section].parent), document.sections[section].title]


# Random documents

WORDS = st.text(alphabet="abyzABZ0189_.;:-|`*é中😀", min_size=1, max_size=14)
LINES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
CODE_LINES = st.tuples(st.sampled_from(["", "    ", "\t", " " * 40]), st.one_of(st.just(""), LINES)).map("".join)
PARAGRAPHS = st.lists(LINES, min_size=1, max_size=5).map("\n".join)
NUMBERS = st.integers(1, 500)
CELLS = st.builds(Cell, st.one_of(st.just(""), WORDS, LINES), rows=st.integers(1, 3), columns=st.integers(1, 2))


@st.composite
def tables(draw: st.DrawFn) -> tuple[object, ...]:
    rows = draw(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=5))
    header_rows = draw(st.integers(0, min(2, len(rows))))
    if draw(st.booleans()):
        facts = [[Cell(cell) for cell in draw(st.tuples(*[st.one_of(st.just(""), WORDS)] * 5))] for _ in rows[1:]]
        rows, header_rows = [[Cell(name) for name in HEADER], *facts], 1
    return ("table", rows, header_rows, draw(NUMBERS), draw(st.one_of(st.just(""), LINES)))


OPERATIONS = st.lists(
    st.recursive(
        st.one_of(
            st.tuples(st.just("heading"), st.integers(1, 7), st.one_of(st.just(" "), LINES), NUMBERS),
            st.tuples(st.just("text"), st.one_of(st.just("\n "), PARAGRAPHS), NUMBERS, st.integers(0, 4)),
            st.tuples(st.just("item"), PARAGRAPHS, NUMBERS, st.integers(0, 3)),
            st.tuples(st.just("code"), st.lists(CODE_LINES, max_size=8).map("\n".join), NUMBERS),
            tables(),
        ),
        lambda inner: st.tuples(st.just("labelled"), LINES, NUMBERS, st.lists(inner, max_size=4)),
        max_leaves=8,
    ),
    max_size=6,
)


def build(operations: list[tuple[object, ...]]) -> ParsedDocument:
    builder = DocumentBuilder()
    _apply(builder, operations)
    return builder.build()


def _apply(builder: DocumentBuilder, operations: list[tuple[object, ...]]) -> None:
    for name, *arguments in operations:
        match name, arguments:
            case "text", [text, line, depth]:
                builder.text(text, line, depth=depth)
            case "item", [text, line, depth]:
                builder.text(text, line, depth=depth, marker="-")
            case "table", [rows, header_rows, line, caption]:
                lines = range(line, line + len(rows))
                builder.table(rows, header_rows=header_rows, row_lines=lines, caption=caption)
            case "labelled", [label, line, inner]:
                with builder.labelled(label, line):
                    _apply(builder, inner)
            case _:
                getattr(builder, name)(*arguments)


# The corpus


def corpus_files(*suffixes: str, below: str = "") -> list[Path]:
    return sorted(p for p in (CORPUS / below).rglob("*") if p.suffix.lower() in (suffixes or FORMATS) and p.is_file())


def corpus_sample(*suffixes: str) -> list[Path]:
    """Return a random sample, always the same files."""
    files = corpus_files(*suffixes)
    return random.Random(0).sample(files, min(SAMPLE_FILES, len(files)))


def read_corpus(files: list[Path]) -> Iterator[tuple[Path, ParsedDocument]]:
    for path in files:
        yield path, read(path, path.read_bytes(), root=CORPUS / path.relative_to(CORPUS).parts[0])
