"""A cross-encoder reorders the first hits within its time limit. The tests use a tiny one with random weights."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kb.errors import LocalModelError, MissingModelError
from kb.settings import Settings
from kb.types.passages import SearchResult
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval import reranker as module
from retrieval.reranker import RERANKED_HITS, Reranker
from tests.retrieval.embedding.default_model import needs_model

pytestmark = needs_model
QUESTION = "how wide is the scratchpad"


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from kb.settings import DEFAULT_MODEL
    from retrieval.embedding.model import find_model

    folder = tmp_path_factory.mktemp("cross-encoder")
    tokenizer = AutoTokenizer.from_pretrained(find_model(DEFAULT_MODEL).folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        num_labels=1, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "mi300x"
    folder.mkdir()
    sections = [f"## Unit {word}\n\nThe scratchpad of unit {word} is {n} bytes wide.\n" for n, word in enumerate(WORDS)]
    (folder / "units.md").write_text("# Units\n\n" + "\n".join(sections))
    return folder


WORDS = [first + second for first in ("al", "be", "ga", "de", "ep") for second in ("pha", "ta", "mma", "lta", "si")]


@pytest.fixture
def search(tmp_path: Path, documents: Path) -> Callable[..., SearchResult]:
    def asked(limit: int = RERANKED_HITS, **settings: object) -> SearchResult:
        with KnowledgeBase(Settings(home=tmp_path, embedding_model="none", **settings)) as kb:
            kb.ingest([documents])
            return kb.search(QUESTION, target="mi300x", limit=limit)

    return asked


def ids(result: SearchResult) -> list[str]:
    return [hit.passage.citation.id for hit in result.hits]


def test_the_model_reorders_the_same_hits(search: Callable[..., SearchResult], cross_encoder: Path) -> None:
    plain, reranked = search(), search(reranker_model=str(cross_encoder), reranker_seconds=60)
    model = Reranker(str(cross_encoder), seconds=60)

    assert sorted(ids(plain)) == sorted(ids(reranked))
    assert ids(plain) != ids(reranked)
    assert ids(reranked) == [hit.passage.citation.id for hit in model.order(QUESTION, plain.hits) or ()]


def test_a_short_answer_is_reranked_from_more_hits_than_it_shows(
    search: Callable[..., SearchResult], cross_encoder: Path
) -> None:
    all_of_them = search(reranker_model=str(cross_encoder), reranker_seconds=60)
    short = search(limit=3, reranker_model=str(cross_encoder), reranker_seconds=60)

    assert ids(short) == ids(all_of_them)[:3]


def test_if_the_time_runs_out_the_fused_order_stays_and_a_note_says_so(
    search: Callable[..., SearchResult], cross_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))

    late = search(reranker_model=str(cross_encoder), reranker_seconds=0.5)

    assert ids(late) == ids(search())
    assert any("exceeded its time limit" in note for note in late.notes)


def test_reranking_is_off_by_default(search: Callable[..., SearchResult], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reranker, "order", lambda *given: pytest.fail("asked"))

    assert search().hits


def test_a_missing_cross_encoder_is_an_error_with_a_hint(search: Callable[..., SearchResult]) -> None:
    with pytest.raises(MissingModelError, match="nobody/has-this") as error:
        search(reranker_model="nobody/has-this")

    assert "hf download" in error.value.hint


def test_pickled_weights_are_not_loaded(cross_encoder: Path, tmp_path: Path) -> None:
    for file in cross_encoder.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")

    with pytest.raises(LocalModelError, match="cannot be loaded"):
        Reranker(str(tmp_path), seconds=1).order("question", [])
