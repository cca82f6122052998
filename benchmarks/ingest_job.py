"""Measure time and memory of `kb ingest` for the documents of a folder, compared with LlamaIndex and LangChain.

    python -m venv PEERS
    PEERS/bin/pip install torch sentence-transformers chromadb llama-index-core llama-index-readers-file \\
        llama-index-embeddings-huggingface langchain-community langchain-text-splitters langchain-huggingface \\
        langchain-chroma
    python -m benchmarks.ingest_job CORPUS/mi300x --whole CORPUS --peers PEERS/bin/python \\
        --out benchmarks/results/ingest-job.json

All are commands that read the same files and embed them with the same model on the same cores, kb first. kb's compiled
model exists before, because kb compiles it only once per machine. Memory is the PSS of all processes of a command
together, sampled every 0.2 s. `--whole` names the folder with the folders of all targets, which kb also reads without
embedding.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.origin import write_result
from ingest.pipeline import Ingest
from ingest.scan import scan
from kb.catalog import Catalog
from kb.settings import DEFAULT_MODEL, cache_dir
from kb.targets import Targets
from retrieval.embedding.compiler import load_embedder
from retrieval.embedding.embedder import OnnxEmbedder
from retrieval.embedding.model import find_model

KB = Path(sys.executable).with_name("kb")
PEERS = ("LlamaIndex", "LangChain")
PEERS_SCRIPT = Path(__file__).with_name("ingest_peers.py")
SAMPLE_S = 0.2
PARTS = 10
"""Number of parts of a command's time for which its peak memory is reported."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", type=Path, help="the Python of the peers' environment")
    parser.add_argument("--whole", type=Path)
    parser.add_argument("--rounds", type=int, default=7, help="number of runs of the short commands")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    ours = load_embedder(DEFAULT_MODEL, cache=cache_dir(), notify=print)
    ours.embed_queries(["compile the model now if necessary"])
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(options.folder, Path(scratch) / options.folder.name, symlinks=True)
        home = Path(scratch) / "home"
        files = [c.path for c in scan(folder, hidden=False) if not c.skip]
        result = {"documents": len(files), "bytes": sum(file.stat().st_size for file in files)}
        result["kb"] = told("kb", watched([KB, "ingest", folder], KB_HOME=home) | embedded_by_kb(folder, ours))
        for name in PEERS if options.peers else ():
            result[name] = told(name, peer(name, options.peers, files, Path(scratch), ours))
        if options.peers:
            result["kb against"] = {name: against(result["kb"], result[name]) for name in PEERS}
        result["again, nothing changed"] = told("again", repeated(folder, home, options.rounds, ()))
        result["again, one paragraph changed"] = told("changed", repeated(folder, home, options.rounds, files))
        if options.whole:
            folders = sorted(p for p in options.whole.iterdir() if p.is_dir())
            environment = {"KB_HOME": Path(scratch) / "whole", "KB_EMBEDDING_MODEL": "none"}
            result["whole corpus, without embedding"] = told("whole", watched([KB, "ingest", *folders], **environment))
    write_result(options.out, result)


def told(name: str, result: dict) -> dict:
    """Print a result as soon as it is known, and return it."""
    print(name, json.dumps(result), flush=True)
    return result


def watched(command: Sequence[str | Path], **environment: str | Path) -> dict:
    """Seconds and memory of a command, including its child processes."""
    loads, memory, began, cpu_before_s = [os.getloadavg()[0]], [0], time.perf_counter(), _children_cpu_s()
    process = started(command, environment, start_new_session=True)
    while process.poll() is None:
        time.sleep(SAMPLE_S)
        memory.append(memory_bytes(process.pid))
        loads.append(os.getloadavg()[0])
    seconds = time.perf_counter() - began
    assert process.returncode in (0, 1), f"{command} ended with {process.returncode}"
    parts = [part.max() / 2**20 for part in np.array_split(memory, PARTS) if part.size]
    return {
        "load average": {"before": round(loads[0], 2), "mean": round(statistics.mean(loads), 2)},
        "seconds": round(seconds, 1),
        "CPU seconds": round(_children_cpu_s() - cpu_before_s, 1),
        "peak MiB": round(max(parts)),
        f"highest MiB in each of {PARTS} parts of its time": [round(part) for part in parts],
    }


def started(command: Sequence[str | Path], environment: dict, **options: object) -> subprocess.Popen:
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    names = os.environ | offline | {name: str(value) for name, value in environment.items()}
    return subprocess.Popen([str(word) for word in command], env=names, stdout=subprocess.DEVNULL, **options)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory_bytes(group: int) -> int:
    """Memory of all processes of a group together; shared memory counts once."""
    return sum(_pss_bytes(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit() and _is_in(p, group))


def _is_in(process: Path, group: int) -> bool:
    try:
        return os.getpgid(int(process.name)) == group
    except ProcessLookupError:
        return False


def _pss_bytes(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # the process has ended meanwhile
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


class Listener:
    """A stand-in for the model that records the texts to embed."""

    def __init__(self, model: OnnxEmbedder) -> None:
        self.fingerprint, self.max_tokens, self.token_spans = model.fingerprint, model.max_tokens, model.token_spans
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        return np.ones((len(texts), 1), np.float32)


def embedded_by_kb(folder: Path, model: OnnxEmbedder) -> dict:
    listener = Listener(model)
    with tempfile.TemporaryDirectory() as home, Catalog(Path(home)) as catalog:
        work = Ingest(catalog, Targets.load(Path(home)), listener)
        work.read([folder])
        work.embed()
        documents = len(catalog.states())
    return {"documents": documents} | embedded(listener.texts, model)


def embedded(texts: Iterable[str], model: OnnxEmbedder) -> dict:
    """Number of texts, of their characters, and of the characters that the model saw: it cuts long texts off."""
    texts = list(texts)
    seen = sum(_seen_characters(text, model) for text in texts)
    return {"texts": len(texts), "characters": sum(map(len, texts)), "characters the model saw": seen}


def _seen_characters(text: str, model: OnnxEmbedder) -> int:
    spans = model.token_spans(text)
    return len(text) if len(spans) <= model.max_tokens else spans[model.max_tokens - 1][1]


def peer(name: str, python: Path, files: Sequence[Path], scratch: Path, model: OnnxEmbedder) -> dict:
    order, out = scratch / "order.json", scratch / "out.json"
    what = {"files": [str(f) for f in files], "model": str(find_model(DEFAULT_MODEL).folder)}
    order.write_text(json.dumps(what | {"store": str(scratch / name)}), encoding="utf-8")
    job = watched([python, PEERS_SCRIPT, name, order, out])
    done = json.loads(out.read_text(encoding="utf-8"))
    return job | {"documents": done["documents"]} | embedded(done["texts"], model) | {"versions": done["versions"]}


def against(kb: dict, other: dict) -> dict:
    """How many times as fast as `other` kb is, for the whole job and per character that the model saw."""
    ratios = {}
    for what in ("seconds", "CPU seconds"):
        whole = other[what] / kb[what]
        seen = whole * kb["characters the model saw"] / other["characters the model saw"]
        ratios[what] = {"whole job": round(whole, 2), "per character seen": round(seen, 2)}
    return ratios


def repeated(folder: Path, home: Path, rounds: int, changed: Sequence[Path]) -> dict:
    """Seconds of repeated runs; before each, a paragraph in one of the files `changed` is changed."""
    texts = sorted((f for f in changed if f.suffix == ".md"), key=lambda file: file.stat().st_size)
    load, seconds, cpu_seconds = os.getloadavg()[0], [], []
    for number in range(rounds):
        if texts:
            _change_a_paragraph(texts[len(texts) // 2], number)
        began, cpu_before_s = time.perf_counter(), _children_cpu_s()
        assert started([KB, "ingest", folder], {"KB_HOME": home}).wait() == 0
        seconds.append(time.perf_counter() - began)
        cpu_seconds.append(_children_cpu_s() - cpu_before_s)
    return {
        "load average before": round(load, 2),
        "seconds": [round(s, 2) for s in seconds],
        "median": round(statistics.median(seconds), 2),
        "median of CPU seconds": round(statistics.median(cpu_seconds), 2),
    }


def _change_a_paragraph(file: Path, number: int) -> None:
    before, after = file.read_text(encoding="utf-8").rsplit("\n\n", 1)
    file.write_text(f"{before}\n\nIn round {number} this is new. {after}", encoding="utf-8")


if __name__ == "__main__":
    main()
