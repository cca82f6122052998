"""What works, what does not, and what to do about it."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from eval.machine import accelerators, compilers, landlock_abi, sandbox_level
from kb.catalog import Catalog, write_lock
from kb.errors import CorruptError, KbError, LocalModelError, MissingModelError, StoreError
from kb.model.base import Frozen
from kb.settings import NO_MODEL, Settings, cache_dir
from retrieval.chroma_index import ChromaIndex, current_folder, publish
from retrieval.compile import load_embedder
from retrieval.embedder import OnnxEmbedder

LIBRARIES = ("torch", "triton", "chromadb", "sentence-transformers", "anthropic")
SANDBOX = ("nothing confines a candidate", "resource limits only", "files, calls and resources are confined")


class Check(Frozen):
    name: str
    state: Literal["ok", "warn", "fail"]
    finding: str
    advice: str = ""


def examine(settings: Settings, *, repair: bool = False) -> list[Check]:
    """Check everything, in the order of a report; with `repair`, mend first what can be mended."""
    model, embedder = _model(settings)
    return [_home(settings), *_stores(settings, embedder, repair=repair), model, *_versions(), *_machine()]


def _home(settings: Settings) -> Check:
    home = settings.home
    nearest = next(d for d in (home, *home.parents) if d.exists())
    if not os.access(nearest, os.W_OK):
        return Check(
            name="home", state="warn", finding=f"{home} can only be read", advice="set KB_HOME to a folder you own"
        )
    return Check(name="home", state="ok", finding=str(home) if home.exists() else f"{home} (made on first use)")


def _stores(settings: Settings, embedder: OnnxEmbedder | None, *, repair: bool) -> Iterator[Check]:
    try:
        with Catalog(settings.home) as catalog:
            yield _catalog(catalog, embedder, repair=repair)
            yield _index(catalog, settings, embedder, repair=repair)
    except CorruptError as error:
        if not repair:
            yield Check(
                name="catalog",
                state="fail",
                finding=error.message,
                advice=f"{error.hint} moves it aside; then ingest again",
            )
            return
        moved = _move_aside(settings.home)
        yield Check(
            name="catalog", state="warn", finding=f"damaged; moved to {moved}", advice="`kb ingest` your folders again"
        )
    except KbError as error:
        yield Check(name="catalog", state="fail", finding=error.message, advice=error.hint)


def _catalog(catalog: Catalog, embedder: OnnxEmbedder | None, *, repair: bool) -> Check:
    model = embedder.fingerprint if embedder else None
    problems = catalog.problems(model)
    mended = 0
    if problems and repair:
        with write_lock(catalog.home):
            mended = catalog.repair(model)
        problems = catalog.damage()
    if problems:
        return Check(name="catalog", state="fail", finding="; ".join(problems), advice="`kb doctor --repair`")
    if mended:
        finding = f"repaired; {mended} documents are to be read again"
        return Check(name="catalog", state="warn", finding=finding, advice="`kb ingest` your folders again")
    counts = catalog.counts()
    finding = ", ".join(f"{counts[table]} {table}s" for table in ("document", "chunk", "fact", "vector"))
    return Check(name="catalog", state="ok", finding=finding)


def _index(catalog: Catalog, settings: Settings, embedder: OnnxEmbedder | None, *, repair: bool) -> Check:
    """The vector index is a cache: without it every vector is compared, so nothing here is a failure."""
    if embedder is None or not catalog.counts()["vector"]:
        return Check(name="index", state="ok", finding="none needed: there are no vectors to search")
    model = embedder.fingerprint
    if catalog.count_windows() <= settings.exact_vectors and current_folder(catalog, model=model) is None:
        return Check(name="index", state="ok", finding=f"not needed up to {settings.exact_vectors} vectors")
    try:
        if repair and _index_problem(catalog, model):
            with write_lock(catalog.home):
                publish(catalog, model=model)
        problem = _index_problem(catalog, model)
    except StoreError as error:
        problem = error.message
    if problem:
        finding = f"{problem}; searches compare every vector instead"
        return Check(name="index", state="warn", finding=finding, advice="`kb doctor --repair`")
    generation = catalog.generation
    return Check(
        name="index", state="ok", finding=f"{generation.name}, {generation.count} vectors" if generation else ""
    )


def _index_problem(catalog: Catalog, model: str) -> str:
    """Why the published index cannot be asked; empty when it can."""
    try:
        held, generation = ChromaIndex(catalog, model=model).count(), catalog.generation
    except StoreError as error:
        return error.message
    expected = generation.count if generation else 0
    return "" if held == expected else f"the vector index holds {held} of {expected} vectors"


def _move_aside(home: Path) -> Path:
    """The damaged file stays for whoever wants to look into it."""
    number = next(n for n in range(1, 10_000) if not (home / f"catalog.damaged-{n}.sqlite").exists())
    moved = home / f"catalog.damaged-{number}.sqlite"
    with write_lock(home):
        (home / "catalog.sqlite").rename(moved)
        for extra in ("-wal", "-shm"):
            (home / f"catalog.sqlite{extra}").unlink(missing_ok=True)
    return moved


def _model(settings: Settings) -> tuple[Check, OnnxEmbedder | None]:
    if settings.embedding_model == NO_MODEL:
        return Check(name="model", state="ok", finding="none, as set: search is lexical only"), None
    try:
        embedder = load_embedder(settings.embedding_model, cache=cache_dir(), on_compile=lambda name: None)
        embedder.embed_queries(["ready"])
    except MissingModelError as error:
        return Check(
            name="model", state="warn", finding=f"{error.message}: search is lexical only", advice=error.hint
        ), None
    except LocalModelError as error:
        return Check(name="model", state="fail", finding=error.message, advice=error.hint), None
    return Check(name="model", state="ok", finding=embedder.fingerprint), embedder


def _versions() -> Iterator[Check]:
    yield Check(
        name="python", state="ok", finding=f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    for library in LIBRARIES:
        try:
            yield Check(name=library, state="ok", finding=version(library))
        except PackageNotFoundError:
            yield Check(
                name=library, state="warn", finding="not installed", advice="`pip install kb-hardware` brings it"
            )


def _machine() -> Iterator[Check]:
    level = sandbox_level()
    finding = f"level {level}: {SANDBOX[level]} (Landlock ABI {landlock_abi()})"
    advice = "" if level == 2 else "a Linux kernel with Landlock (5.13 or newer) confines candidates"
    yield Check(name="sandbox", state="ok" if level == 2 else "warn", finding=finding, advice=advice)
    found = compilers()
    yield Check(
        name="compilers",
        state="ok" if found else "warn",
        finding="; ".join(f"{name}: {line}" for name, line in found.items()) or "none",
        advice="" if found else "install a C++ compiler to judge kernels on this CPU",
    )
    gpus = accelerators()
    yield Check(name="gpu", state="ok", finding=", ".join(gpus) or "none found; kb works without one")
