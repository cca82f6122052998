"""What tests share: a home of their own, an embedder without weights, no network."""

import hashlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from threading import Lock

import hypothesis
import numpy as np
import pytest

from eval.judge.driver import LocalJudge
from eval.languages.toolchain import ToolchainLanguage
from ingest import reading
from ingest.reading import ReaderLimits, ReadFile
from ingest.scan import SHEETS
from kb.errors import DocumentError
from kb.settings import Settings
from kb.types.fact import Fact
from kb.types.kernels import Task
from kb.types.target import ABSENT, Isa
from kb.usecases.knowledge_base import KnowledgeBase

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch's threads sleep, not spin, while they wait for a core
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # torch.compile takes a judge ten seconds to load
os.environ["KB_JUDGE_STAYS_S"] = "0"
hypothesis.settings.register_profile("kb", deadline=None)  # how long an example takes depends on what else runs
hypothesis.settings.load_profile("kb")

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
"""Real hardware documents, for those who have them; the product and its other tests do without."""

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the document corpus does not lie beside the project")


class HashEmbedder:
    """Words hashed into a bag of signs: texts that share words are near. Needs no weights."""

    fingerprint = "hash@1/test-float32"
    dimensions = 64

    def __init__(self, max_tokens: int = 64) -> None:
        self.max_tokens = max_tokens
        self.embedded: list[str] = []

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [m.span() for m in re.finditer(r"\w+|[^\w\s]", text)]

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        for text in texts:
            assert len(self.token_spans(text)) <= self.max_tokens, "a text longer than the model accepts"
        self.embedded += texts
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
                vectors[row, digest[0] % self.dimensions] += 1 if digest[1] % 2 else -1
            vectors[row, 0] += 0.01
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback alone, without a proxy, and without certificates, which take each client long to load."""
    connect = socket.socket.connect

    def loopback(self: socket.socket, address: tuple[str, int] | str) -> None:
        if self.family != socket.AF_UNIX and address[0] != "127.0.0.1":
            raise AssertionError(f"a test opened a connection to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", loopback)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))


class KeptReader(reading._Process):
    """A process that reads, kept from ingest to ingest: to start one takes longer than most tests have to read.

    It reads each sheet that ships with kb once.
    """

    def __init__(self) -> None:
        super().__init__(ReaderLimits(), ())
        self._one_at_a_time = Lock()
        self._sheets: dict[Path, ReadFile | DocumentError] = {}

    def read(self, path: Path, root: Path) -> ReadFile | DocumentError:
        with self._one_at_a_time:
            if path in self._sheets:
                return self._sheets[path]
            read = super().read(path, root)
            if path.is_relative_to(SHEETS):
                self._sheets[path] = read
            return read

    def kill(self) -> None:
        pass

    def end(self) -> None:
        pass


@pytest.fixture(scope="session")
def kept_reader() -> Iterator[KeptReader]:
    reader = KeptReader()
    yield reader
    reading._Process.end(reader)


@pytest.fixture(autouse=True)
def one_reader_for_all(kept_reader: KeptReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ingest of this process has its files read by the same other. Tests of that process have their own."""

    def told(_limits: ReaderLimits, documents: Collection[str]) -> KeptReader:
        kept_reader.tell(documents)
        return kept_reader

    monkeypatch.setattr(reading, "_Process", told)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of this test's own, which the command line finds too."""
    home = tmp_path / "home"
    monkeypatch.setenv("KB_HOME", str(home))
    return home


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
def kb(home: Path, embedder: HashEmbedder) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(Settings.load(home), embedder=embedder) as opened:
        yield opened


@pytest.fixture
def manuals(tmp_path: Path) -> Path:
    return written_manuals(tmp_path / "manuals")


def written_manuals(root: Path) -> Path:
    """A small folder of manuals of two sibling chips that differ in one number."""
    for target, kib in (("mi300x", 64), ("mi355x", 160)):
        (root / target).mkdir(parents=True)
        (root / target / "memory.md").write_text(
            f"# Memory\n\n## Local data share\n\nEach compute unit has {kib} KB of local data share (LDS).\n\n"
            "## Caches\n\nThe vector L1 cache holds 32 KB.\n",
            encoding="utf-8",
        )
        (root / target / "isa.rst").write_text(
            "Instructions\n============\n\nv_mfma_f32_32x32x8_f16\n----------------------\n\n"
            "Multiplies two half precision matrices and adds a third.\n",
            encoding="utf-8",
        )
    return root


@pytest.fixture
def judge_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge judges in this process, which has torch, for tests of what is asked of it and told of its verdicts."""
    from eval.judge.task_judge import TaskJudge

    def start(
        self: LocalJudge,
        task: Task,
        *,
        target: str,
        isa: Isa | None,
        facts: Sequence[Fact],
        toolchain: ToolchainLanguage | None = None,
        **_: object,
    ) -> None:
        self.here = TaskJudge(task, target, isa or ABSENT, [*facts], call_s=60.0, toolchain=toolchain)
        self.interface = self.here.interface

    monkeypatch.setattr(LocalJudge, "__init__", start)
    monkeypatch.setattr(LocalJudge, "verify", lambda self, candidate: self.here.verify(candidate))
    monkeypatch.setattr(LocalJudge, "close", lambda self: self.here.close())


@pytest.fixture
def quick_judge(judge_here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It interprets small cases, and tries no session again: the tests that run beside this one disturb most."""
    from eval.clock import sessions
    from eval.devices.device import CaseSizes
    from eval.devices.triton_compiler import TritonCompiler

    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    monkeypatch.setattr(TritonCompiler, "sizes", CaseSizes(large=1 << 12, small=1 << 10, given=1 << 12))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("only root can mount a small file system")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=2m", "kb-test", str(disk)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, *, leave: int) -> Path:
    """Take all space of `disk` but `leave` bytes."""
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    (disk / "fill").write_bytes(bytes(max(0, free - leave)))
    return disk / "fill"
