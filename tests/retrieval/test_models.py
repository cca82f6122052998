"""A home keeps the precision of its vectors, whatever is fastest on the machine that opens it."""

from pathlib import Path

import pytest

from kb.catalog import Catalog
from kb.settings import DEFAULT_MODEL, Settings
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.embedding.model import find_model
from retrieval.embedding.precision import Precision
from tests.retrieval.embedding.default_model import compile_once, needs_model


@needs_model
@pytest.mark.parametrize("here", Precision)
@pytest.mark.parametrize("stored", Precision)
def test_queries_have_the_precision_of_the_stored_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: Precision, here: Precision
) -> None:
    compile_once()
    monkeypatch.setattr("retrieval.embedding.compiler.fastest", lambda: here)
    fingerprint = find_model(DEFAULT_MODEL).fingerprint(stored)
    with Catalog(tmp_path) as catalog:
        catalog._db.execute("INSERT INTO vector VALUES (?, 'digest', x'00')", (fingerprint,))

    with KnowledgeBase(Settings(home=tmp_path, embedding_model=DEFAULT_MODEL)) as kb:
        assert kb.models.embedder is not None
        assert kb.models.embedder.fingerprint == fingerprint
