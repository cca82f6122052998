"""Checks stores, model and machine, says how to fix problems, and repairs the stores."""

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from eval.machine import accelerators, compilers, landlock_abi, sandbox_level
from ingest.readers import missing_libraries
from kb.catalog import Catalog, write_lock
from kb.errors import CorruptError, KbError, LocalModelError, MissingLibraryError, MissingModelError, StoreError
from kb.settings import NO_MODEL, Settings, cache_dir
from kb.targets import Targets
from kb.types.base import Frozen
from retrieval.chroma_index import ChromaIndex
from retrieval.chroma_server import WRITE_S, kept_by
from retrieval.embedding.compiler import load_embedder
from retrieval.embedding.embedder import OnnxEmbedder

REPAIR, INGEST = "`kb doctor --repair`", "`kb ingest` your folders again"
WITHOUT = {
    "torch": "kb judges no kernels and reads no tasks",
    "triton": "kb judges no Triton kernels",
    "chromadb": "searches compare every vector",
    "sentence-transformers": "search goes by words alone, unless its model was compiled before",
    "anthropic": "kb asks no model of Anthropic",
}
"""Libraries, and what kb does without them."""
SANDBOX = ("candidates are not confined", "resource limits only", "files, calls and resources are confined")

State = Literal["ok", "warn", "fail"]


class Check(Frozen):
    name: str
    state: State
    finding: str
    advice: str = ""


def examine(settings: Settings, *, repair: bool = False) -> list[Check]:
    """Check everything, in the order of the report; `repair` first repairs what it can."""
    home = _home(settings)
    model, embedder = _model(settings)
    return [home, *_stores(settings, embedder, repair=repair), model, *_versions(), *_machine(), _toolchains(settings)]


def _check(state: State, name: str, finding: str, advice: str = "") -> Check:
    return Check(name=name, state=state, finding=finding, advice=advice)


def _home(settings: Settings) -> Check:
    home = settings.home
    nearest = next(d for d in (home, *home.parents) if d.exists())
    if not os.access(nearest, os.W_OK):
        return _check("warn", "home", f"{home} is read-only", "set KB_HOME to a folder you own")
    return _check("ok", "home", str(home) if home.exists() else f"{home} (created on first use)")


def _stores(settings: Settings, embedder: OnnxEmbedder | None, *, repair: bool) -> Iterator[Check]:
    try:
        with Catalog(settings.home) as catalog:
            yield _catalog(catalog, embedder, repair=repair)
            yield _index(catalog, settings, embedder, repair=repair)
    except CorruptError as error:
        if repair:
            yield _check("warn", "catalog", f"damaged; moved to {_move_aside(settings.home)}", INGEST)
        else:
            yield _check("fail", "catalog", error.message, f"{error.hint} moves it aside; then ingest again")
    except KbError as error:
        yield _check("fail", "catalog", error.message, error.hint)


def _catalog(catalog: Catalog, embedder: OnnxEmbedder | None, *, repair: bool) -> Check:
    model = embedder.fingerprint if embedder else None
    problems = catalog.problems(model)
    mended = 0
    if problems and repair:
        with write_lock(catalog.home):
            mended = catalog.repair(model)
        problems = catalog.damage()
    if problems:
        return _check("fail", "catalog", "; ".join(problems), REPAIR)
    if mended:
        return _check("warn", "catalog", f"repaired; {mended} documents must be read again", INGEST)
    counts = catalog.counts()
    finding = ", ".join(f"{counts[table]} {table}s" for table in ("document", "chunk", "fact", "vector"))
    if model and (waiting := len(catalog.unembedded_chunks(model))):
        finding += f"; {waiting} passages have no vector yet, so they are found by words only"
        return _check("warn", "catalog", finding, "the next `kb ingest` goes on with them")
    return _check("ok", "catalog", finding)


def _index(catalog: Catalog, settings: Settings, embedder: OnnxEmbedder | None, *, repair: bool) -> Check:
    """The vector index is a cache: searches can do without it, so no problem here is a failure."""
    if embedder is None or not catalog.counts()["vector"]:
        return _check("ok", "index", "not needed: there are no vectors to search")
    model = embedder.fingerprint
    if catalog.count_windows() <= settings.exact_vectors:
        return _check("ok", "index", f"not needed up to {settings.exact_vectors} vectors")
    index = ChromaIndex(catalog, model=model, kept=kept_by(settings, WRITE_S))
    try:
        if repair:
            with write_lock(catalog.home):
                index.ensure()
        generation = index.check()
    except StoreError as error:
        return _check("warn", "index", f"{error.message}; searches compare every vector instead", REPAIR)
    return _check("ok", "index", f"{generation.name}, {generation.count} vectors")


def _move_aside(home: Path) -> Path:
    """Rename the damaged catalog, which may still be of use to somebody, and return its new path."""
    number = next(n for n in range(1, 10_000) if not (home / f"catalog.damaged-{n}.sqlite").exists())
    moved = home / f"catalog.damaged-{number}.sqlite"
    with write_lock(home):
        (home / "catalog.sqlite").rename(moved)
        for extra in ("-wal", "-shm"):
            (home / f"catalog.sqlite{extra}").unlink(missing_ok=True)
    return moved


def _model(settings: Settings) -> tuple[Check, OnnxEmbedder | None]:
    if settings.embedding_model == NO_MODEL:
        return _check("ok", "model", "none, as set: search is lexical only"), None

    def stored(fingerprint: str) -> bool:
        try:
            with Catalog(settings.home) as catalog:
                return catalog.has_vectors(fingerprint)
        except KbError:
            return False  # another check reports it

    try:
        name = settings.embedding_model
        embedder = load_embedder(name, cache=cache_dir(), notify=lambda message: None, stored=stored)
        embedder.embed_queries(["ready"])
    except MissingModelError as error:
        return _check("warn", "model", f"{error.message}: search is lexical only", error.hint), None
    except LocalModelError as error:
        return _check("fail", "model", error.message, error.hint), None
    return _check("ok", "model", embedder.fingerprint), embedder


def _versions() -> Iterator[Check]:
    yield _check("ok", "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for library, without in WITHOUT.items():
        try:
            yield _check("ok", library, version(library))
        except PackageNotFoundError:
            missing = MissingLibraryError(library.replace("-", "_"))
            yield _check("warn", library, f"not installed: {without}", missing.hint)
    if unread := missing_libraries():
        finding = "cannot read " + "; ".join(f"{name}: no {library}" for name, library in unread.items())
        yield _check("fail", "readers", finding, "`pip install kb-hardware` installs all that kb needs")
    else:
        yield _check("ok", "readers", "all formats")


def _machine() -> Iterator[Check]:
    level = sandbox_level()
    finding = f"level {level}: {SANDBOX[level]} (Landlock ABI {landlock_abi()})"
    if level == 2:
        yield _check("ok", "sandbox", finding)
    else:
        yield _check("warn", "sandbox", finding, "a Linux kernel with Landlock (5.13 or newer) confines candidates")
    if found := compilers():
        yield _check("ok", "compilers", "; ".join(f"{name}: {line}" for name, line in found.items()))
    else:
        yield _check("warn", "compilers", "none", "install a C++ compiler to judge kernels on this CPU")
    yield _check("ok", "gpu", ", ".join(accelerators()) or "none found; kb works without one")


def _toolchains(settings: Settings) -> Check:
    if sys.platform != "linux":
        return _check("ok", "toolchains", "not used: candidates are judged on Linux only")
    from kb.usecases.toolchains import Toolchains

    try:
        states = Toolchains(settings.home, Targets.load(settings.home)).states()
    except KbError as error:
        return _check("fail", "toolchains", error.message, error.hint)
    ready = ", ".join(state.name for state in states if state.ready)
    missing = ", ".join(state.name for state in states if not state.ready)
    advice = f"`kb toolchains list` says what installs {missing}" if missing else ""
    return _check("ok", "toolchains", ready or "none is ready", advice)
