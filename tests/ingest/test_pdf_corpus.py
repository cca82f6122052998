"""PDF on real manuals: rows, words and outlines are checked against the pages, and a PDF against its source."""

import json
import re
import unicodedata
from collections import defaultdict
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from ingest.builder import BlockKind
from tests.conftest import CORPUS, needs_corpus
from tests.ingest.documents import corpus_files, read_corpus

ROWS = Path(__file__).parent / "pdf_rows.jsonl"
LATEX = re.compile(r"\\[a-z]+|[{}]")
"""Commands of a formula; the page shows symbols instead."""
COVERED_SHARE, OUTLINE_SHARE, ROW_SHARE, PARITY_SHARE = 0.99, 0.95, 0.9, 0.95


@needs_corpus
@pytest.mark.slow
def test_rows_of_real_tables_are_read_under_their_headers() -> None:
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    found = set()
    for path, document in read_corpus(sorted({CORPUS / row["path"] for row in rows})):
        for block in document.blocks:
            for row in block.table.rows if block.table else ():
                page = document.lines[document.text.count("\n", 0, row.start)]
                for header in (None, tuple(map(squash, block.table.header))):
                    found.add((str(path.relative_to(CORPUS)), page, header, tuple(map(squash, row.cells))))

    right = sum(
        (
            row["path"],
            row["page"],
            row["header"] and tuple(map(squash, row["header"])),
            tuple(map(squash, row["cells"])),
        )
        in found
        for row in rows
    )

    assert right >= ROW_SHARE * len(rows), f"{right} of {len(rows)}"


@pytest.mark.slow
@needs_corpus
@pytest.mark.parametrize(
    ("pdf", "sources"),
    [
        ("x86-avx512/libxsmm/documentation/libxsmm.pdf", "index.md"),
        ("riscv-rvv/riscv-matrix-extension-spec/spec/riscv_matrix_extension_proposal.pdf", "*.adoc"),
    ],
)
def test_a_pdf_has_the_sentences_of_its_source(pdf: str, sources: str) -> None:
    [(_, manual)] = read_corpus([CORPUS / pdf])
    kept = letters(manual.text)
    said = [
        sentence
        for _, source in read_corpus(sorted((CORPUS / pdf).parent.glob(sources)))
        for block in source.blocks
        if block.kind in (BlockKind.TEXT, BlockKind.ITEM)
        for sentence in re.split(r"(?<=[.!?:])\s+", " ".join(source.text[block.start : block.end].split()))
        if len(sentence.split()) > 5
    ]

    found = sum(letters(LATEX.sub(" ", sentence)) in kept for sentence in said)

    assert found >= PARITY_SHARE * len(said) > 100, f"{found} of {len(said)}"


@needs_corpus
@pytest.mark.slow
def test_real_documents_keep_their_words_and_their_outline() -> None:
    for path, document in read_corpus(corpus_files(".pdf")):
        with pdfium.PdfDocument(path) as file:
            words = set()
            for page in file:
                text = page.get_textpage().get_text_range()
                words |= set(re.findall(r"[A-Za-z0-9_.]{3,}", normal(text)))
            titles = [(entry.get_dest().get_index() + 1, letters(entry.get_title())) for entry in file.get_toc()]
        kept = re.sub(r"[\^{}]", "", squash(normal(document.text)))
        covered = sum(word in kept for word in words)
        headings: dict[int, str] = defaultdict(str)
        for block in document.blocks:
            if block.kind is BlockKind.HEADING:
                page = document.lines[document.text.count("\n", 0, block.start)]
                headings[page] += letters(document.text[block.start : block.end]) + " "
        shown_titles = sum(title in headings[page] + headings[page + 1] for page, title in titles)

        assert covered >= COVERED_SHARE * len(words), f"{path.name}: {covered} of {len(words)}"
        assert shown_titles >= OUTLINE_SHARE * len(titles), f"{path.name}: {shown_titles} of {len(titles)}"


def squash(text: str) -> str:
    return re.sub(r"\s+", "", text)


def normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\ufffe", "-").replace("\x02", "-")


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())
