"""The tokenizer of the real embedding model on real documents: every window fits, and no text is lost."""

from pathlib import Path

import pytest

from ingest.builder import BlockKind, ParsedDocument
from ingest.chunk import CHUNK_CHARACTERS, chunk
from kb.errors import MissingModelError
from kb.settings import DEFAULT_MODEL
from kb.types.embedding import Tokenizer
from retrieval.embedding.compiler import load_embedder
from tests.conftest import CORPUS, needs_corpus
from tests.ingest.chunks import check_bodies, check_coverage, check_cuts, check_leads, check_size, check_windows
from tests.ingest.documents import corpus_files, corpus_sample, read_corpus

pytestmark = needs_corpus


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The tokenizer of the default model; nothing is embedded, so nothing is compiled."""
    try:
        return load_embedder(DEFAULT_MODEL, cache=Path("/nowhere"), notify=lambda message: None)
    except MissingModelError as error:
        pytest.skip(error.message)


def check(document: ParsedDocument, tokenizer: Tokenizer) -> int:
    """Check every rule for chunks, and return the number of chunks."""
    title = document.sections[0].title if document.sections else "untitled"
    chunks = chunk(document, title=title, tokenizer=tokenizer)
    check_windows(chunks, tokenizer)
    check_bodies(document, chunks)
    check_coverage(document, chunks)
    check_cuts(document, chunks)
    check_size(document, chunks, CHUNK_CHARACTERS)
    check_leads(document, chunks)
    return len(chunks)


@pytest.mark.slow
def test_a_sample_of_the_corpus_is_chunked_without_loss(tokenizer: Tokenizer) -> None:
    sizes = {path: check(document, tokenizer) for path, document in read_corpus(corpus_sample())}

    assert sum(sizes.values()) > 10 * len(sizes)


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(p.name for p in CORPUS.glob("*/")))
def test_the_whole_corpus_is_chunked_without_loss(tokenizer: Tokenizer, folder: str) -> None:
    files = corpus_files(below=folder)
    if not files:
        pytest.skip("no file of a format that kb reads")

    for path, document in read_corpus(files):
        furniture_alone = all(block.kind is BlockKind.FURNITURE for block in document.blocks)
        assert (check(document, tokenizer) > 0) is not furniture_alone, path
