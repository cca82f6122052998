"""`kb docs` on a screen, in a pipe and as JSON."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, Run, documents
from tests.cli.test_read_only_home import protected
from tests.ingest.pdf_writer import lines, pdf

READING = [("list",), ("show", "mi210/memory.md"), ("show", "mi210/memory.md", "--section", "Memory")]
LONG = "a-folder-with-a-rather-long-name/" * 3


def the_id(run: Run) -> str:
    return str(run("search", "local data share", "--target", "mi210", "--json").json["passages"][0]["id"])


def test_the_list_has_a_line_for_each_document_under_headings_that_several_share(
    run: Run, stored: Path, docs: Path
) -> None:
    (docs / "mi210" / "stated.md").write_text(
        "---\nversion: 2.5\nlicence: MIT\n---\n# Stated\n\nText.\n", encoding="utf-8"
    )
    run("ingest", docs, "--trust", "community")

    shown = run("docs", "list").out.splitlines()

    assert shown[0].split() == ["passages", "version", "format", "path"]
    assert [line for line in shown if line.startswith("mi")] == [
        "mi210, licence unknown, community",
        "mi210, MIT, community",
        "mi250, licence unknown, community",
    ]
    assert [line.split() for line in shown if line.endswith("stated.md")] == [
        ["1", "2.5", "markdown", "mi210/stated.md"]
    ]
    sha256 = {Path(source).name: digest for source, _, digest in documents(stored)}
    assert f"@{sha256['note0.md'][:8]}  markdown  mi210/note0.md" in "\n".join(shown)
    assert re.fullmatch(r"8 documents, \d+ passages, 5 facts of 3 targets", shown[-1])


def test_the_list_marks_what_ships_with_kb(run: Run, stored: Path) -> None:
    run("search", "lds", "--target", "mi300x")

    shown = run("docs", "list", "--target", "mi300x")

    assert "hardware_docs/mi300x/mi300x.md *\n" in shown.out
    assert "* ships with kb" in shown.out
    assert [d["path"] for d in run("docs", "list", "--json").json if d["ships_with_kb"]] == [
        "hardware_docs/mi300x/mi300x.md"
    ]


def test_the_list_of_a_target_is_its_scope(run: Run, stored: Path) -> None:
    listed = run("docs", "list", "--target", "MI-210", "--json").json

    assert {d["target"] for d in listed} == {"cdna2", "mi210"}
    assert len(listed) == 6
    assert run("docs", "list", "--target", "mi21o").refusal[0] == "unknown target 'mi21o'"


def test_a_home_without_documents_says_how_to_get_some(run: Run, home: Path) -> None:
    assert "kb ingest" in run("docs", "list").out
    assert run("docs", "list", "--json").json == []


@pytest.mark.parametrize("command", READING, ids=lambda c: " ".join(c[:3:2]))
def test_what_is_shown_fits_a_screen_of_80_columns(
    on_screen: Run, docs: Path, home: Path, command: tuple[str, ...]
) -> None:
    text = "# Memory\n\n" + "".join(f"## {'Heading ' * 12}{n}\n\n{'word ' * 60}\n\n" for n in range(3))
    (docs / "mi210" / "memory.md").write_text(text, encoding="utf-8")
    deep = docs / "mi210" / LONG / "memory.txt"
    deep.parent.mkdir(parents=True)
    deep.write_text("Text.\n", encoding="utf-8")
    on_screen("ingest", docs)

    shown = on_screen("docs", *command)

    assert shown.status == 0
    # The file is copied and opened, so it stays in one piece.
    assert [x for x in shown.out.splitlines() if len(x) > 80 and str(docs) not in x] == []
    assert ("…" in shown.out) != ("--section" in command), "a text is wrapped, all else is cut"


def test_the_visible_end_of_a_path_names_the_document(on_screen: Run, docs: Path, home: Path) -> None:
    deep = docs / "mi210" / LONG / "deep.md"
    deep.parent.mkdir(parents=True)
    deep.write_text("# Deep\n", encoding="utf-8")
    on_screen("ingest", docs)

    left = re.search(r"…\S+deep\.md", on_screen("docs", "list").out)

    assert left
    assert on_screen("docs", "show", left.group()).out.startswith(f"mi210/{LONG}deep.md\n")


def test_a_pipe_has_whole_paths_and_may_be_closed(run: Run, docs: Path, home: Path) -> None:
    many = docs / "mi210" / LONG
    many.mkdir(parents=True)
    for number in range(40):
        (many / f"{number}.md").write_text("# Deep\n", encoding="utf-8")
    run("ingest", docs)
    kb = f"{sys.executable} -m kb.cli docs list"

    done = subprocess.run(["bash", "-c", f"{kb} | head -5"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 5)
    assert f"mi210/{LONG}7.md" in run("docs", "list").out


def test_a_document_is_shown_with_its_properties_and_its_headings(run: Run, stored: Path, docs: Path) -> None:
    shown = run("docs", "show", "mi210/memory.md").out

    sha256 = {source: digest for source, _, digest in documents(stored)}[str(docs / "mi210" / "memory.md")]
    for name, value in {
        "title": "Memory of the MI210",
        "target": "mi210",
        "format": "markdown",
        "version": f"@{sha256[:8]}, file of 20",
        "licence": "unknown",
        "trust": "vendor",
        "file": str(docs / "mi210" / "memory.md"),
    }.items():
        assert re.search(rf"^  {name}: +{re.escape(value)}", shown, re.MULTILINE)
    assert "1 table, 2 rows, 0 code blocks, 2 facts" in " ".join(shown.split())
    assert re.search(r"^   1 +\d+  Memory of the MI210\n   3 +\d+    Local data share$", shown, re.MULTILINE)


def test_headings_are_cut_at_a_depth_and_it_is_said_how_many_there_are(run: Run, docs: Path, home: Path) -> None:
    text = "# Top\n\n" + "".join(f"## Chapter {n}\n\n### Section {n}\n\nText.\n\n" for n in range(30))
    (docs / "mi210" / "big.md").write_text(text, encoding="utf-8")
    run("ingest", docs)

    cut, whole = (run("docs", "show", "big.md", *more).out for more in ((), ("--depth", "3")))
    section = run("docs", "show", "big.md", "--section", "Chapter 7").out

    assert ("Chapter 29" in cut, "Section 29" in cut) == (True, False)
    assert "30 headings below these (--depth 3, --section HEADING)" in cut
    assert "Section 29" in whole
    assert "headings below" not in whole
    assert ("Section 7" in section, "Section 8" in section) == (True, False)
    assert len(run("docs", "show", "big.md", "--json").json["headings"]) == 61


@pytest.mark.parametrize("option", [("--section", "Local data share"), ("--text",)], ids=lambda option: option[0])
def test_a_text_is_whole_and_each_passage_has_its_id_and_lines(
    run: Run, stored: Path, docs: Path, option: tuple[str, ...]
) -> None:
    shown = run("docs", "show", "mi210/memory.md", *option).out

    ids = re.findall(r"^\[([0-9a-f]{12}) L\d", shown, re.MULTILINE)
    assert len(ids) == 3
    assert all(run("cite", i).status == 0 for i in ids)
    file = (docs / "mi210" / "memory.md").read_text(encoding="utf-8").splitlines()
    body = [line for line in file if line and not line.startswith(("#", "|---"))]
    assert [line for line in body if line not in shown] == []


def test_a_text_says_that_its_file_has_changed(run: Run, stored: Path, docs: Path) -> None:
    (docs / "mi210" / "memory.md").write_text("# Other\n", encoding="utf-8")

    assert run("docs", "show", "mi210/memory.md", "--text").out.startswith("note: the file has changed")


def test_a_short_code_file_or_document_without_headings_is_shown_whole(run: Run, docs: Path, home: Path) -> None:
    (docs / "mi210" / "clocks.csv").write_text("part,MHz\nL2,1500\n", encoding="utf-8")
    (docs / "mi210" / "copy.py").write_text(
        "def first(x):\n    return x\n\n\ndef second(x):\n    return x\n", encoding="utf-8"
    )
    (docs / "mi210" / "long.csv").write_text("part,MHz\n" + "L2,1500\n" * 3000, encoding="utf-8")
    run("ingest", docs)

    assert "| L2 | 1500 |" in run("docs", "show", "clocks.csv").out
    assert "second(x):\n    return x" in run("docs", "show", "copy.py").out
    assert "no headings (--text" in run("docs", "show", "long.csv").out


def test_a_citation_is_shown_with_as_many_lines_around_it_as_asked_for(run: Run, stored: Path) -> None:
    passage = the_id(run)
    few, many = (run("cite", passage, "--around", n).out for n in ("0", "9"))

    assert few.startswith("[mi210/memory.md@")
    assert "§Memory of the MI210 > Local data share L5]\n" in few
    assert re.findall(r"^[> ] +\d* \| .*", few, re.MULTILINE) == [
        "> 5 | Each compute unit has 64 KB of local data share (LDS)."
    ]
    assert "| l2_size | 8 | MiB | shared by all | guide, table 4 |" in many
    assert len(re.findall(r"^> ", many, re.MULTILINE)) == 1


@pytest.mark.parametrize("place", ["{path}:5", "{path}:5-6", "{path}@{digest}:5", "[{path}@{digest} L5]"])
def test_the_place_that_a_prompt_cites_opens_like_an_id(run: Run, stored: Path, place: str) -> None:
    by_id = run("cite", the_id(run)).out
    path, digest = re.findall(r"(\S+)@(\w{8})", by_id)[0]

    assert run("cite", place.format(path=path.strip("["), digest=digest)).out == by_id


@pytest.mark.parametrize("place", ["mi210/memory.md:999", "mi210/memory.md@00000000:5"])
def test_a_place_that_the_stored_version_does_not_have_is_refused(run: Run, stored: Path, place: str) -> None:
    refused = run("cite", place)

    assert (refused.status, f"the stored version, has no passage at {place}" in refused.err) == (1, True)


def test_a_pdf_has_pages(run: Run, docs: Path, home: Path) -> None:
    content = pdf(lines("First words."), lines("Second words."), outline=[(0, "One", 1, 9), (0, "Two", 2, 9)])
    (docs / "mi210" / "guide.pdf").write_bytes(content)
    run("ingest", docs)

    shown = run("docs", "show", "guide.pdf").out

    assert re.search(r"^page +passages +heading\n +1 +1  One\n +2 +1  Two$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("show", "memory.md"), "3 documents are called 'memory.md'", "mi210/memory.md, mi250/memory.md"),
        (("show", "mi210/memry.md"), "no document is called 'mi210/memry.md'", "did you mean mi210/memory.md"),
        (("show", "mi210/memory.md", "--section", "Local dta share"), "has no section", "'Local data share'"),
        (("remove", "memory.md", "--yes"), "3 documents are called", "cdna2/memory.md"),
        (("remove", "nothing", "--yes"), "no document is called 'nothing'", "kb docs list"),
        (("remove", "docs", "--target", "mi21o"), "unknown target 'mi21o'", "mi210"),
        (("remove", "mi210"), "nothing was removed", "--yes"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_an_impossible_removal_is_refused_and_nothing_is_removed(
    run: Run, stored: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    before = documents(stored)

    outcome = run("docs", *arguments)

    said = outcome.err.splitlines()
    assert (outcome.status, outcome.out) == (1, "")
    assert message in said[-2]
    assert hint in said[-1]
    assert documents(stored) == before


def test_removal_says_what_was_removed_and_that_it_may_return(run: Run, stored: Path, docs: Path) -> None:
    passage = the_id(run)

    outcome = run("docs", "remove", "mi210/memory.md", "--yes")

    assert outcome.out.splitlines()[0] == "removed: 1 document, 3 passages, 2 facts"
    assert "kb ingest" in outcome.out
    assert run("search", "local data share compute unit", "--target", "mi210").status == 1
    assert run("facts", "mi210", "lds_size").status == 1
    assert run("cite", passage).status == 1
    assert [file["outcome"] for file in run("ingest", docs, "--json").json["files"]].count("new") == 1
    assert the_id(run) == passage


def test_removal_asks_and_takes_no_for_an_answer(answering: Callable[..., Outcome], stored: Path, docs: Path) -> None:
    before = documents(stored)

    refused = answering("n", "docs", "remove", "mi210")
    assert (refused.status, refused.out.strip(), documents(stored)) == (1, "", before)
    assert "mi210/memory.md" in refused.err
    assert "Remove 5 documents" in refused.err

    assert answering("y", "docs", "remove", str(docs), "--target", "mi210", "--json").status == 0
    assert {target for _, target, _ in documents(stored)} == {"cdna2", "mi250"}


def test_what_was_removed_is_valid_json(run: Run, stored: Path) -> None:
    removed = run("docs", "remove", "note0.md", "note1.md", "--yes", "--json").json

    assert [d["path"] for d in removed] == ["mi210/note0.md", "mi210/note1.md"]


def test_what_ships_with_kb_is_refused_before_anybody_is_asked(run: Run, stored: Path) -> None:
    run("search", "lds", "--target", "mi300x")

    message, hint = run("docs", "remove", "mi300x.md").refusal

    assert "ships with kb" in message
    assert "nothing was removed" in hint


def test_a_home_that_cannot_be_written_can_be_read_and_keeps_its_documents(run_confined: Run, stored: Path) -> None:
    for home in protected(stored):
        shown = run_confined("docs", "show", "mi210/memory.md")
        message, _ = run_confined("docs", "remove", "mi210/memory.md", "--yes").refusal

        assert (shown.status, shown.err) == (0, "")
        assert f"{home} cannot be written" in message
