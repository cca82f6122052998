"""The real embedding model in kb gives its authors' numbers, cuts no text silently and refuses altered weights."""

import json
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kb.errors import LocalModelError, MissingModelError
from kb.settings import DEFAULT_MODEL, cache_dir
from retrieval.embedding.compiler import MIN_COSINE, Compiler, load_embedder
from retrieval.embedding.embedder import OnnxEmbedder
from retrieval.embedding.gpu import LEAST_TEXTS, load_on_gpu
from retrieval.embedding.model import WEIGHTS, find_model
from retrieval.embedding.precision import Precision
from tests.retrieval.embedding.default_model import compile_once, needs_model

SENTENCE = "Each compute unit has 64 KB of local data share."
FIRST_FIVE = [0.0588498, 0.0082543, -0.0463566, -0.0198020, -0.0550730]

TEXTS = [
    SENTENCE,
    "v_mfma_f32_32x32x8_f16 reads its accumulators from consecutive VGPRs",
    "| Model | LDS (KiB) |\n|---|---|\n| MI300X | 64 |",
    "Größe des lokalen Speichers · 局部数据共享",
    "x",
    "To avoid bank conflicts, pad the leading dimension of the tile. " * 8,
]

WITH_SENTENCE_TRANSFORMERS = """
import json, sys
import numpy as np
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True)
np.save(sys.argv[2], model.encode(json.loads(sys.argv[3]), normalize_embeddings=True))
"""


def loaded(name: str, precision: Precision) -> OnnxEmbedder:
    return load_embedder(name, cache=cache_dir(), notify=pytest.fail, stored=lambda f: f.endswith(f"/{precision}"))


@pytest.fixture(scope="module")
def model() -> OnnxEmbedder:
    compile_once()
    return loaded(DEFAULT_MODEL, Precision.FLOAT32)


@pytest.fixture(scope="module")
def model_int8() -> OnnxEmbedder:
    compile_once()
    return loaded(DEFAULT_MODEL, Precision.INT8)


@pytest.fixture(params=["model", "model_int8"])
def either(request: pytest.FixtureRequest) -> OnnxEmbedder:
    """The default model, in each precision."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The files of the default model in a folder where they can be changed; the weights are a link."""
    source, copy = find_model(DEFAULT_MODEL).folder, tmp_path / DEFAULT_MODEL
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns(WEIGHTS))
    (copy / WEIGHTS).symlink_to(source / WEIGHTS)
    return copy


@needs_model
def test_the_first_numbers_of_a_vector_equal_the_recorded_ones(model: OnnxEmbedder) -> None:
    vectors = model.embed_documents([SENTENCE])

    assert vectors.shape == (1, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[0, :5], FIRST_FIVE, atol=1e-5)


@needs_model
@pytest.mark.slow
def test_the_vectors_equal_those_of_sentence_transformers(model: OnnxEmbedder, tmp_path: Path) -> None:
    file, folder = tmp_path / "vectors.npy", find_model(DEFAULT_MODEL).folder
    subprocess.run([sys.executable, "-c", WITH_SENTENCE_TRANSFORMERS, folder, file, json.dumps(TEXTS)], check=True)

    cosines = np.sum(model.embed_documents(TEXTS) * np.load(file), axis=1)

    assert cosines.min() >= MIN_COSINE[Precision.FLOAT32]


@needs_model
def test_vectors_in_int8_have_nearly_the_directions_of_those_in_float32(
    model: OnnxEmbedder, model_int8: OnnxEmbedder
) -> None:
    cosines = np.sum(model.embed_documents(TEXTS) * model_int8.embed_documents(TEXTS), axis=1)

    assert MIN_COSINE[Precision.INT8] <= cosines.min() < 1 - 1e-4


@needs_model
def test_every_vector_has_length_one(either: OnnxEmbedder) -> None:
    vectors = np.concatenate([either.embed_documents(TEXTS), either.embed_queries(["", *TEXTS])])

    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@needs_model
def test_a_batch_gives_each_text_the_vector_it_gets_alone_in_the_same_order(either: OnnxEmbedder) -> None:
    texts = [f"Text {i} " + "about banks " * (i * 7 % 30) for i in range(21)]

    together = either.embed_documents(texts)

    np.testing.assert_array_equal(together, np.concatenate([either.embed_documents([t]) for t in texts]))
    np.testing.assert_array_equal(together, either.embed_queries(texts))


@needs_model
def test_a_cpu_that_is_slow_at_int8_computes_the_same_vectors_in_float32(
    model_int8: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.embedding.embedder.is_fast_at_int8", lambda: False)
    elsewhere = loaded(DEFAULT_MODEL, Precision.INT8)

    cosines = np.sum(elsewhere.embed_documents(TEXTS) * model_int8.embed_documents(TEXTS), axis=1)

    assert cosines.min() > MIN_COSINE[Precision.FLOAT32]


@needs_model
def test_a_document_one_token_too_long_is_refused(model: OnnxEmbedder) -> None:
    fitting, too_long = "word " * model.max_tokens, "word " * (model.max_tokens + 1)
    assert len(model.token_spans(too_long)) == model.max_tokens + 1

    assert model.embed_documents([fitting]).shape == (1, 384)
    with pytest.raises(LocalModelError, match=r"tokens is longer than .* accepts \(256\)"):
        model.embed_documents([SENTENCE, too_long])


@needs_model
def test_a_long_query_is_embedded_by_its_beginning(model: OnnxEmbedder) -> None:
    beginning = "word " * model.max_tokens

    vectors = model.embed_queries([beginning, beginning + "and much more " * 100])

    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)


@needs_model
def test_token_spans_are_positions_in_the_text_in_order(model: OnnxEmbedder) -> None:
    spans = model.token_spans("Bank conflicts of v_mfma_f32")

    assert ["Bank conflicts of v_mfma_f32"[start:end] for start, end in spans][:3] == ["Bank", "conflicts", "of"]
    assert all(start < end <= following for (start, end), (following, _) in pairwise(spans))


@needs_model
def test_the_fingerprint_names_model_weights_and_precision(model: OnnxEmbedder, model_int8: OnnxEmbedder) -> None:
    assert re.fullmatch(r"all-MiniLM-L6-v2@[0-9a-f]{16}/float32", model.fingerprint)
    assert model_int8.fingerprint == model.fingerprint.replace("float32", "int8")


@needs_model
@pytest.mark.parametrize("precision", Precision)
def test_a_model_is_compiled_once_per_machine(either: OnnxEmbedder, precision: Precision) -> None:
    assert Compiler(find_model(DEFAULT_MODEL), cache_dir(), pytest.fail).compiled(precision).is_file()


@needs_model
@pytest.mark.parametrize("here", Precision)
def test_without_vectors_a_home_gets_the_precision_that_is_fastest_here(
    model: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch, here: Precision
) -> None:
    monkeypatch.setattr("retrieval.embedding.compiler.fastest", lambda: here)

    chosen = load_embedder(DEFAULT_MODEL, cache=cache_dir(), notify=pytest.fail)

    assert chosen.fingerprint.endswith(f"/{here}")


@needs_model
def test_a_model_whose_vectors_would_differ_too_much_in_int8_stays_in_float32(
    model: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("retrieval.embedding.compiler.fastest", lambda: Precision.INT8)
    monkeypatch.setitem(MIN_COSINE, Precision.INT8, 1.1)
    monkeypatch.setattr("retrieval.embedding.compiler.quantise", lambda exact, out, texts: copy_model(exact, out))
    exact = Compiler(find_model(DEFAULT_MODEL), cache_dir(), pytest.fail).compiled(Precision.FLOAT32)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / exact.parent.name).symlink_to(exact.parent)
    told: list[str] = []

    chosen = [load_embedder(DEFAULT_MODEL, cache=tmp_path, notify=told.append) for _ in range(2)]

    assert all(embedder.fingerprint.endswith("/float32") for embedder in chosen)
    assert [re.sub(r"cosine [\d.]+", "cosine X", message) for message in told] == [
        "compiling the embedding model all-MiniLM-L6-v2 in int8 (once on this machine)",
        "all-MiniLM-L6-v2 embeds in float32, which is slower: in int8 its vectors would differ too much "
        "(cosine X, needed 1.1)",
    ]


def copy_model(file: Path, copy: Path) -> None:
    for part in file.parent.iterdir():
        shutil.copy(part, copy.parent)


def change(file: Path, **settings: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | settings), encoding="utf-8")


CLS_POOLING = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
PROMPTS = {"prompts": {"query": "query: ", "document": "passage: "}}


@needs_model
@pytest.mark.parametrize(
    ("file", "settings"),
    [("1_Pooling/config.json", CLS_POOLING), ("config_sentence_transformers.json", PROMPTS)],
    ids=["pooling", "prompts"],
)
def test_the_same_weights_with_other_settings_have_another_fingerprint(
    model: OnnxEmbedder, copied: Path, file: str, settings: dict[str, object]
) -> None:
    change(copied / file, **settings)

    other = loaded(str(copied), Precision.FLOAT32)

    assert other.fingerprint != model.fingerprint


@needs_model
def test_the_same_weights_with_other_pooling_are_compiled_again(model: OnnxEmbedder, copied: Path) -> None:
    def stop(message: str) -> None:
        raise InterruptedError

    change(copied / "1_Pooling/config.json", **CLS_POOLING)

    with pytest.raises(InterruptedError):
        Compiler(find_model(str(copied)), cache_dir(), stop).compiled(Precision.FLOAT32)


@needs_model
def test_altered_weights_of_the_default_model_are_refused(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.embedding.model._wheel_folder", lambda: copied)
    assert find_model(DEFAULT_MODEL).folder == copied
    weights = bytearray((copied / WEIGHTS).read_bytes())
    weights[-1] ^= 1
    (copied / WEIGHTS).unlink()
    (copied / WEIGHTS).write_bytes(weights)

    with pytest.raises(LocalModelError, match="not the published model") as caught:
        find_model(DEFAULT_MODEL)

    assert "force-reinstall" in caught.value.hint


@pytest.mark.parametrize("name", ["no-such-model", "nobody/no-such-model", "/no/such/folder", "not a name!"])
def test_a_missing_model_is_an_error_with_a_hint(name: str) -> None:
    with pytest.raises(MissingModelError, match="is not on this machine") as caught:
        find_model(name)

    assert "KB_EMBEDDING_MODEL=none" in caught.value.hint


def test_a_model_without_safetensors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[]", encoding="utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"pickled")

    with pytest.raises(LocalModelError, match=f"has no {WEIGHTS}") as caught:
        find_model(str(tmp_path))

    assert "pickled" in caught.value.hint
    assert not isinstance(caught.value, MissingModelError)


class FakeGpu:
    """A stand-in for sentence-transformers on a GPU that records the texts it gets."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: list[str], **_options: object) -> np.ndarray:
        self.asked += texts
        return np.eye(1, 384).repeat(len(texts), axis=0)


@needs_model
@pytest.mark.parametrize(("texts", "on_gpu"), [(LEAST_TEXTS - 1, False), (LEAST_TEXTS, True)])
def test_many_texts_are_embedded_on_the_gpu_if_there_is_one(
    model: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch, texts: int, on_gpu: bool
) -> None:
    gpu = FakeGpu()
    monkeypatch.setitem(model.__dict__, "_on_gpu", gpu)

    vectors = model.embed_documents(["x"] * texts)

    assert vectors.shape == (texts, 384)
    assert bool(gpu.asked) == on_gpu


@needs_model
def test_texts_are_embedded_in_int8_on_the_cpu_even_if_there_is_a_gpu(
    model_int8: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = FakeGpu()
    monkeypatch.setitem(model_int8.__dict__, "_on_gpu", gpu)

    model_int8.embed_documents(["x"] * LEAST_TEXTS)

    assert gpu.asked == []


def test_without_a_gpu_driver_torch_is_not_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("retrieval.embedding.gpu.DRIVERS", (tmp_path / "none",))
    monkeypatch.setitem(sys.modules, "torch", None)

    assert load_on_gpu(tmp_path) is None
