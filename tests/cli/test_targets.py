"""`kb targets` changes the tree, and `kb ingest` says which targets it added and how to change that."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import FACT_HEADER, Outcome, Run, documents


@pytest.fixture
def chips(tmp_path: Path) -> Path:
    """Two unknown chips of an unknown maker."""
    for chip, kib in (("qx100", 7), ("qx200", 9)):
        folder = tmp_path / "docs" / "acme" / chip / "isa"
        folder.mkdir(parents=True)
        table = f"{FACT_HEADER}| lds_size | {kib} | KiB | | guide |\n"
        (folder / "a.md").write_text(f"# Acme {chip.upper()} guide\n\nThe scratchpad.\n\n{table}", encoding="utf-8")
    return tmp_path / "docs"


def test_an_ingest_says_which_targets_are_new_and_how_to_change_them(run: Run, home: Path, chips: Path) -> None:
    shown = run("ingest", chips).out

    assert f"new target: qx100, child of acme, named by {chips / 'acme' / 'qx100'}" in shown
    assert "kb ingest PATH --target NAME" in shown
    assert "kb targets move NAME PARENT" in shown
    assert {target for _, target, _ in documents(home)} == {"qx100", "qx200"}
    assert "qx200" not in run("search", "scratchpad", "--target", "qx100").out


def test_a_new_target_may_be_named_with_its_parent(run: Run, home: Path, chips: Path) -> None:
    run("ingest", chips / "acme" / "qx100", "--target", "New Chip", "--parent", "cdna")

    assert run("targets", "show", "new chip", "--json").json["lineage"] == ["new-chip", "cdna", "amd", "any"]


def test_a_new_target_that_resembles_a_known_one_is_said_to(run: Run, home: Path, chips: Path) -> None:
    shown = run("ingest", chips, "--target", "mi21").out

    assert "new target: mi21, child of any; similar names: mi210" in shown
    assert "kb targets remove" in shown


@pytest.mark.parametrize(
    ("words", "family"),
    [
        ("Its cores are RISC-V with RVV 1.0 vectors.", "riscv-rvv"),
        ("Its host is an x86 or an Arm CPU. Its cores have vectors.", ""),
        ("Its cores are Arm Neoverse with SVE and Neon.", "arm-neon-sve"),
    ],
)
def test_an_ingest_names_the_family_whose_vector_instructions_the_documents_name(
    run: Run, tmp_path: Path, words: str, family: str
) -> None:
    (tmp_path / "qx7").mkdir()
    (tmp_path / "qx7" / "a.md").write_text(f"# QX7 guide\n\n{words}\n", encoding="utf-8")

    shown = run("ingest", tmp_path / "qx7").out

    assert [line.split()[-1] for line in shown.splitlines() if "kb targets move qx7" in line] == [family] * bool(family)
    if family:
        assert run("targets", "move", "qx7", family).status == 0


def test_a_chip_with_a_family_gets_no_other_one_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# QX7 guide\n\nIts host has SVE.\n", encoding="utf-8")

    assert "its documents name" not in run("ingest", tmp_path / "a.md", "--target", "qx7", "--parent", "amd").out


def test_folders_that_may_be_about_other_chips_are_named_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "qx7").mkdir()
    (tmp_path / "qx7" / "a.md").write_text("# QX7 guide\n\nIt has cores.\n", encoding="utf-8")
    for name in ("wx1", "wx2"):
        (tmp_path / "qx7" / name).mkdir()
        (tmp_path / "qx7" / name / "b.md").write_text(f"# {name}\n\nIt has cores.\n", encoding="utf-8")

    (line,) = [line for line in run("ingest", tmp_path / "qx7").out.splitlines() if "another chip, kb" in line]

    command = "kb ingest FOLDER --target NAME --parent any"
    folders = f"{tmp_path}/qx7/wx1, {tmp_path}/qx7/wx2"
    assert line == f"if one of these folders of qx7 is about another chip, {command}: {folders}"


def test_an_alias_is_another_name(run: Run, home: Path, chips: Path) -> None:
    run("ingest", chips)

    assert run("targets", "show", "acme-qx100").status == 1
    assert run("targets", "alias", "qx100", "acme qx100").out == "qx100 is also called acme qx100\n"
    assert run("targets", "show", "acme-qx100").out.startswith("qx100\n")


def test_a_removal_says_what_is_lost_and_takes_no_for_an_answer(
    run: Run, answering: Callable[..., Outcome], home: Path, chips: Path
) -> None:
    run("ingest", chips)
    before = documents(home)

    refused = answering("n", "targets", "remove", "qx100")

    assert (refused.status, documents(home)) == (1, before)
    assert "documents 1, passages 2, facts 1, verdicts 0" in refused.err
    assert answering("y", "targets", "remove", "qx100", "--json").json["documents"] == 1
    assert {target for _, target, _ in documents(home)} == {"qx200"}
    assert run("targets", "show", "qx100").status == 1


def test_without_a_terminal_a_removal_needs_yes(
    run: Run, home: Path, chips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    run("ingest", chips)

    refused = run("targets", "remove", "qx100")

    assert refused.status == 1
    assert "nothing was removed" in refused.err
    assert run("targets", "remove", "qx100", "--yes").out.startswith("removed qx100\n")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("remove", "mi300x", "--yes"), "mi300x ships with kb", "--parent mi300x"),
        (("alias", "mi300x", "big"), "mi300x ships with kb", "kb targets add"),
        (("move", "mi300x", "any"), "mi300x ships with kb", "kb targets add"),
        (("remove", "acme", "--yes"), "acme is the parent of qx100, qx200", "kb targets move"),
        (("move", "acme", "qx100"), "acme cannot be moved to qx100", "another parent"),
        (("move", "acme", "acme"), "acme cannot be moved to acme", "another parent"),
        (("add", "qx200"), "'qx200' exists already", "kb targets show qx200"),
        (("add", "???"), "'???' cannot be a target name", "letters"),
        (("alias", "qx100", "mi300x"), "names both", "one target only"),
        (("show", "no such chip"), "unknown target 'no such chip'", "`kb targets add 'no such chip'`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_an_impossible_change_is_refused_and_nothing_is_changed(
    run: Run, home: Path, chips: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    run("ingest", chips)
    before = (home / "targets.toml").read_text(encoding="utf-8"), documents(home)

    said = run("targets", *arguments).refusal

    assert message in said[0]
    assert hint in said[1]
    assert ((home / "targets.toml").read_text(encoding="utf-8"), documents(home)) == before
