"""A user's mistake costs one line that says what is wrong, one that says what to do, and nothing else."""

import os
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Run, documents


@pytest.fixture
def mistakes(tmp_path: Path) -> Path:
    """Folders that hold nothing to read."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "die.png").write_bytes(b"\x89PNG")
    (tmp_path / "pictures" / "LICENSE.md").write_text("MIT\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said", "advised"),
    [
        pytest.param(["ingest", "{tmp}/nowhere"], "no such file or folder: {tmp}/nowhere", "path", id="missing folder"),
        pytest.param(["ingest", "{docs}", "{tmp}/nowhere"], "{tmp}/nowhere", "path", id="one of two folders missing"),
        pytest.param(["ingest", "{tmp}/empty"], "{tmp}/empty is empty", ".md", id="empty folder"),
        pytest.param(["ingest", "{tmp}/empty", "--dry-run"], "{tmp}/empty is empty", ".md", id="empty folder, dry run"),
        pytest.param(["ingest", "{tmp}/pictures"], ".png", ".md", id="no format that kb reads"),
        pytest.param(["ingest", "{tmp}/pictures/die.png"], ".png", ".md", id="a file that kb does not read"),
        pytest.param(
            ["ingest", "{docs}", "--target", "x1", "--parent", "mi21"], "'mi21'", "mi210", id="no such family"
        ),
        pytest.param(
            ["ingest", "{docs}", "-t", "mi210", "--parent", "cdna"], "child of gfx90a", "move", id="other family"
        ),
        pytest.param(["search", "lds", "--target", "mi21O"], "unknown target 'mi21O'", "mi210", id="search target"),
        pytest.param(
            ["context", "lds", "-t", "zzzzzzzz"], "unknown target 'zzzzzzzz'", "targets list", id="no name near"
        ),
        pytest.param(["facts", "mi21O"], "unknown target 'mi21O'", "mi210", id="facts of an unknown target"),
        pytest.param(["targets", "show", "mi21O"], "unknown target 'mi21O'", "mi210", id="show an unknown target"),
        pytest.param(["targets", "add", "x1", "--parent", "mi21O"], "'mi21O'", "mi210", id="unknown parent"),
        pytest.param(["targets", "add", "mi210"], "exists already", "targets show mi210", id="target known already"),
        pytest.param(["facts", "mi210", "lds_sice"], "'lds_sice' of mi210", "lds_size", id="unknown quantity"),
        pytest.param(["facts", "mi210", "cache size"], "'cache size' of mi210", "l2_size", id="quantity in part"),
        pytest.param(["facts", "mi210", "voltage"], "'voltage'", "known: l2_size, lds_size", id="no quantity near"),
        pytest.param(["facts", "hexagon"], "no document states facts of hexagon", "ingest", id="no facts at all"),
        pytest.param(["cite", "000000000000"], "'000000000000'", "kb search", id="unknown citation"),
        pytest.param(
            ["search", "gr\udcf6\udcdfe"], "'gr\ufffd\ufffde' is not UTF-8", "UTF-8", id="question in Latin-1"
        ),
        pytest.param(["cite", "gr\udcf6"], "'gr\ufffd' is not UTF-8", "UTF-8", id="id in Latin-1"),
        pytest.param(["skills", "retire", "a", "--reason=\udcf6"], "is not UTF-8", "UTF-8", id="option in Latin-1"),
        pytest.param(["search", ""], "no word", "word", id="empty question"),
        pytest.param(["search", "what is the"], "no word", "word", id="question of stop words"),
        pytest.param(["context", " ... "], "no word", "word", id="question of signs"),
    ],
)
def test_a_mistake_costs_one_error_and_one_hint_and_changes_nothing(
    run: Run, stored: Path, docs: Path, mistakes: Path, arguments: list[str], said: str, advised: str
) -> None:
    before = documents(stored)
    names = {"tmp": mistakes, "docs": docs}

    message, hint = run(*(a.format(**names) for a in arguments)).refusal

    assert said.format(**names) in message
    assert advised in hint
    assert documents(stored) == before


def test_a_fact_that_only_a_sibling_has_is_refused_without_its_value(run: Run, stored: Path) -> None:
    assert run("facts", "mi250", "xgmi_links", "--json").json["facts"][0]["value"] == "777"

    message, hint = run("facts", "mi210", "xgmi_links").refusal

    assert "'xgmi_links' of mi210" in message
    assert "777" not in message + hint


def test_facts_that_only_descendants_have_are_refused_and_the_hint_names_the_descendants(
    run: Run, stored: Path
) -> None:
    message, hint = run("facts", "cdna").refusal

    assert message == "no document states facts of cdna"
    assert [name for name in ("cdna2", "mi210", "mi250") if name not in hint] == []
    assert "lds_size" not in hint


def test_a_quantity_that_only_a_descendant_has_is_refused(run: Run, stored: Path) -> None:
    assert run("facts", "cdna2").status == 0

    message, _ = run("facts", "cdna2", "lds_size").refusal

    assert "'lds_size' of cdna2" in message


@pytest.mark.parametrize(
    ("variable", "value"), [("KB_LEXICAL_WEIGHT", "2"), ("KB_LEXICAL_WEIGHT", "half"), ("KB_BUDGET_TOKENS", "0")]
)
def test_a_wrong_setting_in_the_environment_is_refused_by_name(
    run: Run, stored: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    message, hint = run("search", "lds").refusal

    assert variable.removeprefix("KB_").lower() in message
    assert repr(value) in message
    assert variable in hint


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("kb.toml", b"lexical_weight = 'much'\n"),
        ("kb.toml", b"colour = 'blue'\n"),
        ("kb.toml", b"lexical_weight =\n"),
        ("kb.toml", b"# \xff\n"),
        ("targets.toml", b"[x1]\nparent = 'nobody'\n"),
        ("targets.toml", b"[x1]\nparent = 3\naliases = 4\n"),
        ("targets.toml", b"x1 = 'cdna'\n"),
        ("targets.toml", b"[x1\n"),
        ("targets.toml", b"# \xff\n"),
        ("catalog.sqlite", b"no database at all" * 100),
    ],
)
def test_a_file_of_the_home_that_was_spoilt_is_refused_by_name(
    run: Run, stored: Path, file: str, content: bytes
) -> None:
    (stored / file).write_bytes(content)

    message, hint = run("search", "lds").refusal

    assert str(stored if file == "catalog.sqlite" else stored / file) in message + hint
    assert (stored / file).read_bytes() == content


def test_a_home_that_is_a_file_is_refused(run: Run, home: Path) -> None:
    home.write_text("not a folder", encoding="utf-8")

    message, _ = run("search", "lds").refusal

    assert str(home) in message


def test_a_catalog_of_another_version_is_refused_and_left_as_it_is(run: Run, stored: Path) -> None:
    db = sqlite3.connect(stored / "catalog.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = (stored / "catalog.sqlite").read_bytes()

    message, _ = run("search", "lds").refusal

    assert "99" in message
    assert (stored / "catalog.sqlite").read_bytes() == before


def test_a_file_that_is_no_text_fails_by_name_and_the_others_are_read(run: Run, docs: Path, home: Path) -> None:
    (docs / "mi210" / "broken.md").write_bytes(b"\0" * 100)

    outcome = run("ingest", docs)

    assert outcome.status == 1
    assert [line.partition(":")[0] for line in outcome.err.splitlines()] == ["error", "hint"]
    assert "docs/mi210/broken.md" in outcome.out
    assert "is not text" in outcome.out
    assert len(documents(home)) == 7


def test_a_file_whose_name_is_not_utf8_is_skipped_and_the_others_are_read(run: Run, docs: Path, home: Path) -> None:
    try:
        Path(os.fsdecode(bytes(docs / "mi210") + b"/\xff.md")).write_text("# Named oddly\n", encoding="utf-8")
    except (OSError, UnicodeError) as error:
        pytest.skip(f"this file system has no such names: {error}")

    outcome = run("ingest", docs)

    assert outcome.status == 0
    assert "its name is not UTF-8" in outcome.out
    assert len(documents(home)) == 7


@pytest.mark.parametrize("name", ["any", "all of it", "手册"])
def test_a_folder_of_any_name_can_be_ingested_for_a_target_that_is_given(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.md").write_text("# Remarks\n\nThe local data share.\n", encoding="utf-8")

    assert run("ingest", tmp_path / name, "--target", "mi210").status == 0
    assert run("search", "local data share", "--target", "mi210").status == 0


def test_a_folder_called_any_holds_what_is_true_of_every_target(run: Run, tmp_path: Path) -> None:
    (tmp_path / "any").mkdir()
    (tmp_path / "any" / "a.md").write_text("# Remarks\n\nThe roofline model.\n", encoding="utf-8")

    assert run("ingest", tmp_path / "any").status == 0
    assert run("search", "roofline model", "--target", "mi210").status == 0


def test_a_folder_that_names_no_target_and_cannot_is_refused_with_what_to_do(run: Run, tmp_path: Path) -> None:
    (tmp_path / "手册").mkdir()
    (tmp_path / "手册" / "a.md").write_text("# Remarks\n", encoding="utf-8")

    _, hint = run("ingest", tmp_path / "手册").refusal

    assert "--target" in hint
