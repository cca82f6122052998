"""`kb doctor` finds what is broken; `--repair` mends it, and loses no document and no evidence."""

import random
import shutil
import sqlite3
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from kb.settings import DEFAULT_MODEL, cache_dir
from retrieval.embedding.compiler import load_embedder
from retrieval.embedding.embedder import OnnxEmbedder
from tests.cli.conftest import Outcome, Run, documents
from tests.retrieval.embedding.default_model import compile_once, needs_model


@pytest.fixture(scope="module")
def model() -> OnnxEmbedder:
    """The default model, loaded once for all tests."""
    compile_once()
    return load_embedder(DEFAULT_MODEL, cache=cache_dir(), notify=pytest.fail)


@pytest.fixture
def embedded(run: Run, docs: Path, home: Path, model: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose documents have vectors, and an index that is needed."""
    monkeypatch.setenv("KB_EMBEDDING_MODEL", DEFAULT_MODEL)
    for module in ("kb.usecases.doctor", "retrieval.models"):
        monkeypatch.setattr(f"{module}.load_embedder", lambda *_, **__: model)
    monkeypatch.setenv("KB_EXACT_VECTORS", "0")
    assert run("ingest", docs).status == 0
    return home


def states(outcome: Outcome) -> dict[str, str]:
    return {check["name"]: check["state"] for check in outcome.json}


def finding(outcome: Outcome, name: str) -> str:
    return next(check["finding"] for check in outcome.json if check["name"] == name)


def answer(run: Run) -> list[str]:
    """Ids of the passages that a search finds, best first."""
    found = run("search", "local data share of a compute unit", "--target", "mi210", "--json").json
    return [passage["id"] for passage in found["passages"]]


def behind_the_back(home: Path, statement: str) -> None:
    db = sqlite3.connect(home / "catalog.sqlite", isolation_level=None)
    changed = db.execute(statement).rowcount
    db.close()
    assert changed > 0


@needs_model
def test_a_healthy_home_has_no_failure_and_its_stores_and_model_are_fine(run: Run, embedded: Path) -> None:
    outcome = run("doctor", "--json")

    assert outcome.status == 0
    assert [states(outcome)[name] for name in ("home", "catalog", "index", "model")] == ["ok"] * 4
    assert "7 documents" in finding(outcome, "catalog")
    assert "fail" not in states(outcome).values()
    assert [c for c in outcome.json if c["state"] != "ok" and not c["advice"]] == []


def test_a_home_that_is_not_there_yet_is_no_failure(run: Run, home: Path) -> None:
    outcome = run("doctor", "--json")

    assert outcome.status == 0
    assert states(outcome)["home"] == "ok"


@needs_model
@pytest.mark.parametrize(
    ("damage", "found"),
    [
        pytest.param("DELETE FROM vector", "have no vector", id="all vectors lost"),
        pytest.param("DELETE FROM lexical WHERE rowid % 2 = 0", "not in the lexical index", id="lexical rows lost"),
        pytest.param("DELETE FROM lexical_data WHERE id > 10", "lexical index", id="lexical index damaged"),
        pytest.param("UPDATE document SET text = replace(text, '64', '46')", "document", id="text altered"),
    ],
)
def test_damage_inside_the_catalog_is_found_and_repaired_without_losing_a_document(
    run: Run, embedded: Path, docs: Path, damage: str, found: str
) -> None:
    before, answered = documents(embedded), answer(run)
    behind_the_back(embedded, damage)

    examined, repaired = run("doctor", "--json"), run("doctor", "--repair", "--json")

    assert (examined.status, states(examined)["catalog"]) == (1, "fail")
    assert found in finding(examined, "catalog")
    assert (repaired.status, states(repaired)["catalog"]) != (1, "fail")
    assert documents(embedded) == before
    assert run("ingest", docs).status == 0
    again = run("doctor", "--json")
    assert [states(again)[name] for name in ("catalog", "index")] == ["ok", "ok"]
    assert answer(run) == answered


def spoil(file: Path) -> None:
    file.write_bytes(random.Random(3).randbytes(file.stat().st_size))


@needs_model
@pytest.mark.parametrize(
    "damage", [shutil.rmtree, lambda index: spoil(next(index.glob("*/chroma.sqlite3")))], ids=["removed", "spoilt"]
)
def test_a_lost_index_is_a_warning_and_is_rebuilt(run: Run, embedded: Path, damage) -> None:
    damage(embedded / "index")

    examined, repaired = run("doctor", "--json"), run("doctor", "--repair", "--json")

    assert (examined.status, states(examined)["index"]) == (0, "warn")
    assert "searches compare every vector instead" in finding(examined, "index")
    assert (repaired.status, states(repaired)["index"]) == (0, "ok")
    assert states(run("doctor", "--json"))["index"] == "ok"


@needs_model
def test_a_missing_index_is_no_problem_if_it_is_not_needed(
    run: Run, embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(embedded / "index")
    monkeypatch.setenv("KB_EXACT_VECTORS", "500")

    outcome = run("doctor", "--repair", "--json")

    assert (states(outcome)["index"], finding(outcome, "index")) == ("ok", "not needed up to 500 vectors")
    assert not (embedded / "index").exists()


@pytest.mark.parametrize("kept", [0.0, 0.5], ids=["garbage", "half of it"])
def test_a_damaged_catalog_is_moved_aside_and_kept(run: Run, stored: Path, docs: Path, kept: float) -> None:
    answered = answer(run)
    file = stored / "catalog.sqlite"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * kept)] or random.Random(3).randbytes(len(whole)))
    damaged = file.read_bytes()

    examined, repaired = run("doctor", "--json"), run("doctor", "--repair", "--json")

    assert (examined.status, states(examined)["catalog"]) == (1, "fail")
    assert (repaired.status, states(repaired)["catalog"]) == (0, "warn")
    assert [p.read_bytes() for p in stored.glob("catalog.damaged-*.sqlite")] == [damaged]
    assert run("ingest", docs).status == 0
    assert states(run("doctor", "--json"))["catalog"] == "ok"
    assert answer(run) == answered


def test_two_damaged_catalogs_are_both_kept(run: Run, stored: Path) -> None:
    for content in (b"first " * 100, b"second " * 100):
        (stored / "catalog.sqlite").write_bytes(content)
        assert run("doctor", "--repair").status == 0

    assert sorted(p.read_bytes()[:6] for p in stored.glob("catalog.damaged-*.sqlite")) == [b"first ", b"second"]


def test_a_catalog_of_another_version_fails_and_is_not_repaired_away(run: Run, stored: Path) -> None:
    db = sqlite3.connect(stored / "catalog.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = documents(stored)

    outcome = run("doctor", "--repair", "--json")

    assert (outcome.status, states(outcome)["catalog"]) == (1, "fail")
    assert documents(stored) == before
    assert list(stored.glob("catalog.damaged-*")) == []


def test_a_healthy_home_is_not_touched_by_a_repair(run: Run, stored: Path) -> None:
    before = documents(stored)

    outcome = run("doctor", "--repair", "--json")

    assert (outcome.status, states(outcome)["catalog"]) == (0, "ok")
    assert documents(stored) == before


@pytest.mark.parametrize(("name", "state"), [("none", "ok"), ("no-such-model", "warn")])
def test_search_without_a_model_is_reported_and_is_no_failure(
    run: Run, stored: Path, monkeypatch: pytest.MonkeyPatch, name: str, state: str
) -> None:
    monkeypatch.setenv("KB_EMBEDDING_MODEL", name)

    outcome = run("doctor", "--json")

    assert (outcome.status, states(outcome)["model"]) == (0, state)
    assert "lexical only" in finding(outcome, "model")


def test_a_missing_library_is_named_with_what_kb_cannot_do_and_what_to_type(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("kb.usecases.doctor.version", missing)

    torch = next(check for check in run("doctor", "--json").json if check["name"] == "torch")

    assert torch["finding"] == "not installed: kb judges no kernels and reads no tasks"
    assert torch["advice"] == "`pip install 'kb-hardware[judge]'` installs it"
