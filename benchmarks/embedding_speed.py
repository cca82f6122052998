"""Measure how fast documents are embedded here, compared with sentence-transformers in LlamaIndex and LangChain.

    pip install llama-index-embeddings-huggingface langchain-huggingface
    python -m benchmarks.embedding_speed FOLDER --texts 600 --out benchmarks/results/embedding-speed.json

All embed the same texts, of at most the model's length, in document order, with the same model on the same cores.
Rounds alternate between them. The results are the medians of characters per second, and a comparison of the vectors.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.origin import LIBRARIES, origin
from ingest.chunk import chunk
from ingest.readers import format_of, read
from kb.settings import DEFAULT_MODEL, cache_dir
from retrieval.compile import load_embedder
from retrieval.embedding_model import find_model

PEERS = ("llama-index-embeddings-huggingface", "langchain-huggingface")

Embed = Callable[[Sequence[str]], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    ours = load_embedder(DEFAULT_MODEL, cache=cache_dir(), notify=print)
    texts = windows_of(options.folder, ours, options.texts)
    folder = str(find_model(DEFAULT_MODEL).folder)
    embedders: dict[str, Embed] = {"kb": ours.embed_documents, **peers(folder)}
    characters = sum(map(len, texts))
    vectors = {name: np.asarray(embed(texts[:16])) for name, embed in embedders.items()}
    speeds: dict[str, list[float]] = {name: [] for name in embedders}
    for _ in range(options.rounds):
        for name, embed in embedders.items():
            began = time.perf_counter()
            embed(texts)
            speeds[name].append(characters / (time.perf_counter() - began))
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    result = {
        "texts": len(texts),
        "characters": characters,
        "fingerprint": ours.fingerprint,
        "characters a second": {name: [round(v) for v in values] for name, values in speeds.items()},
        "kb against": {name: round(medians["kb"] / median, 2) for name, median in medians.items() if name != "kb"},
        "least cosine to kb": {n: round(float((v * vectors["kb"]).sum(axis=1).min()), 6) for n, v in vectors.items()},
    }
    options.out.write_text(json.dumps(origin((*LIBRARIES, *PEERS)) | result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


def windows_of(folder: Path, tokenizer: object, count: int) -> list[str]:
    """Texts that kb embeds from documents below `folder`: all windows of documents drawn at random with a seed."""
    texts: list[str] = []
    files = sorted(p for p in folder.rglob("*") if p.is_file() and format_of(p) in ("markdown", "rst"))
    for path in random.Random(0).sample(files, len(files)):
        document = read(path, path.read_bytes(), root=folder)
        texts += [w for c in chunk(document, title=path.stem, tokenizer=tokenizer) for w in c.windows]
        if len(texts) >= count:
            break
    return texts[:count]


def peers(model: str) -> dict[str, Embed]:
    """The peers as their documentation shows them, on the CPU."""
    from langchain_huggingface import HuggingFaceEmbeddings
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    llama = HuggingFaceEmbedding(model_name=model, device="cpu")
    chain = HuggingFaceEmbeddings(
        model_name=model, model_kwargs={"device": "cpu"}, encode_kwargs={"normalize_embeddings": True}
    )
    return {
        "LlamaIndex": lambda texts: np.asarray(llama.get_text_embedding_batch(list(texts))),
        "LangChain": lambda texts: np.asarray(chain.embed_documents(list(texts))),
    }


if __name__ == "__main__":
    main()
