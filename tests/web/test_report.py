"""A report says what won and why, what was refused, what was cited and what it cost, for each state of a run."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from kb.mcp.runs import kb_run
from kb.runs.journal import Run, SynthesizerKind
from kb.types.evidence import Outcome
from kb.types.protocols import Stage
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.candidates import opened
from kb.views.report import Report, report
from kb.views.runs import run_view
from kb.web.pages import fence, md
from kb.web.report import markdown, page
from tests.conftest import HashEmbedder
from tests.runs.fakes import candidate
from tests.web.fakes import AT, answer, ask, judge, propose, started, whole_run


@pytest.fixture
def found(kb: KnowledgeBase, home: Path) -> Report:
    return report(kb, whole_run(home))


def text_of(html: str) -> str:
    return " ".join(LexborHTMLParser(html).body.text(deep=True, separator=" ").split())


def test_the_table_compares_each_candidate_with_the_one_that_it_changes(found: Report) -> None:
    rows = [[cell.text().strip() for cell in row.css("td")] for row in LexborHTMLParser(page(found)).css("tr")]

    assert [row for row in rows if len(row) == 8][:4] == [
        ["1", "draft", "beats eager", "50.0 (47.6 to 52.5)", "2.00 (1.90 to 2.10)", "", "", "UNROLL=1, BLOCK=64"],
        ["2", "tuned", "beats eager, best", "40.0 (38.1 to 42.0)", "2.50 (2.38 to 2.63)", "1", "0.80", "UNROLL=4"],
        ["3", "rethink", "incorrect", "", "", "", "", ""],
        ["4", "fix", "beats eager", "66.7 (63.4 to 70.1)", "1.50 (1.43 to 1.58)", "3", "", ""],
    ]
    assert [(one.stage, one.structure, one.outcome) for one in found.candidates] == [
        ("draft", 1, Outcome.PASSED),
        ("tuned", 1, Outcome.PASSED),
        ("rethink", 3, Outcome.INCORRECT),
        ("fix", 3, Outcome.PASSED),
    ]


def test_a_candidate_has_its_settings_the_quick_times_and_its_diff_to_its_parent(found: Report) -> None:
    first, tuned = found.candidates[:2]

    assert [(one.settings["UNROLL"], one.time_us) for one in first.quick] == [(4, 30.0), (2, 40.0), (8, None)]
    assert tuned.quick == ()
    assert (first.diff, tuned.settings) == ("", {"UNROLL": 4, "BLOCK": 64})
    assert [line for line in tuned.diff.splitlines() if line[0] in "+-"] == [
        "--- candidate 1",
        "+++ candidate 2",
        "-constexpr int UNROLL = 1;  // tune: 1, 2, 4, 8",
        "+constexpr int UNROLL = 4;  // tune: 1, 2, 4, 8",
    ]


def test_each_answer_has_its_model_its_date_and_the_candidate_that_was_read_from_it(found: Report) -> None:
    assert [(one.candidate, one.outcome, one.text) for one in found.answers] == [
        (1, "answered", ""),
        (0, "answered", "I would rather not."),
        (3, "answered", ""),
        (4, "answered", ""),
        (0, "overloaded", "the service is busy"),
    ]
    assert (found.answers[0].model, found.answers[0].at) == ("maker/model-2026-10-01", AT)
    (cost,) = found.costs
    assert (cost.requests, cost.candidates, round(cost.spent.dollars, 2)) == (5, 3, 0.05)


def test_each_prompt_stands_with_the_candidate_that_answers_it(kb: KnowledgeBase, home: Path) -> None:
    run = started(home)
    for said in ("first", "second"):
        ask(run, said=said)
        answer(run)
        judge(run, propose(run, said, author="a", stage=Stage.DRAFT))
        judge(run, propose(run, f"{said}, tuned", author="a", parent=run.step - 1))

    prompts = [one.prompt and one.prompt.text for one in report(kb, run).candidates]

    assert prompts == ["first", None, "second", None]


def test_the_page_tells_what_won_what_was_refused_and_what_it_cost(found: Report) -> None:
    shown = text_of(page(found))

    assert "Candidate 2 takes 40.0 us (38.1 to 42.0) and is 2.50 times (2.38 to 2.63) as fast as eager" in shown
    assert "the best baseline: a win. It is the best of 3 timed of 4 judged candidates." in shown
    assert "candidate 1 with UNROLL=4, BLOCK=64 candidate 1 , draft: sums row by row" in shown
    assert "eager 100.0 us beside it" in shown
    assert "is 2.38, and a win must exceed 1.03." in shown
    assert re.search(r"incorrect 1 3 Its outputs are wrong\.", shown)
    assert "Judged 4 of at most 40 candidates; 1 refused" in shown
    assert "Cost $0.05, for 6,000 tokens in 5 requests" in shown
    assert "ended: 2 kernels in a row brought no gain" in shown
    assert "Skills written row-sum-cpu-x86-0123" in shown


def test_a_cost_that_kb_did_not_pay_is_unknown(kb: KnowledgeBase, home: Path) -> None:
    run = started(home)
    ask(run)
    answer(run, dollars=0.0, model="", at="")

    shown = text_of(page(report(kb, run)))

    assert "Cost unknown: kb itself paid nothing, for 1,200 tokens in 1 requests" in shown
    assert "recorded:answers, model unknown" in shown
    assert "The journal has no dates of these requests." in shown
    assert "$0.00" not in shown + markdown(report(kb, run))


def test_the_code_of_a_candidate_is_on_the_page_once(found: Report) -> None:
    folds = [fold.text() for fold in LexborHTMLParser(page(found)).css("summary")]

    assert [fold.partition(",")[0] for fold in folds if fold.startswith(("Code", "Diff"))] == [
        "Code", "Diff to candidate 1", "Code", "Code", "Diff to candidate 3",
    ]  # fmt: skip


def test_the_file_of_the_best_kernel_is_named(kb: KnowledgeBase, home: Path) -> None:
    run = whole_run(home)
    run.write("candidates/002.cpp", "its code")

    found = report(kb, run)

    assert found.file == f"runs/{run.id}/candidates/002.cpp"
    assert (home / found.file).read_text() == "its code"
    assert f"{found.file} in kb's home; kb verify TASK FILE --target cpu-x86 judges it again" in text_of(page(found))


def test_the_curve_has_the_roof(found: Report) -> None:
    assert (found.candidates[1].roof_share, found.progress.roof_us) == (0.5, 20.0)
    assert "the roof, from the chip's cited rates" in page(found)
    assert "20.0 us is the shortest time that the chip's cited rates allow; the best is at 50%" in text_of(page(found))


@pytest.mark.parametrize("form", [page, markdown])
def test_the_same_journal_gives_the_same_bytes(form: Callable[[Report], str], kb: KnowledgeBase, home: Path) -> None:
    run = whole_run(home)

    assert form(report(kb, run)) == form(report(kb, run))


def asked(home: Path) -> Run:
    run = started(home)
    ask(run)
    return run


def answered(home: Path) -> Run:
    run = asked(home)
    answer(run)
    return run


def proposed(home: Path) -> Run:
    run = answered(home)
    propose(run, candidate(), author="a", stage=Stage.DRAFT)
    return run


@pytest.mark.parametrize(
    ("state", "waits"),
    [
        (started, "candidate 1"),
        (asked, "an answer of recorded:answers"),
        (answered, "candidate 1"),
        (proposed, "the verdict on candidate 1"),
    ],
)
@pytest.mark.parametrize("torn", [False, True])
def test_a_run_that_was_killed_has_a_report(
    state: Callable[[Path], Run], waits: str, torn: bool, kb: KnowledgeBase, home: Path
) -> None:
    run = state(home)
    if torn:
        with (run.folder / "journal.jsonl").open("a") as journal:
            journal.write('{"kind": "jud')

    found = report(kb, kb.runs.get(run.id))

    assert found.waits_for == waits
    shown = text_of(page(found))
    assert f"it goes on, or was killed while it waited for {waits}." in shown
    assert "No candidate has passed yet." in shown
    assert "No candidate has passed yet." in markdown(found)


def test_a_run_by_hand_and_one_of_the_tuner_have_a_report(kb: KnowledgeBase, home: Path) -> None:
    for kind in (SynthesizerKind.EXTERNAL, SynthesizerKind.TUNE):
        run = started(home, synthesizer=kind, authors=())
        judge(run, propose(run, candidate(), recalled="some-skill", skills_used=("some-skill",)))

        found = report(kb, run)

        assert [(one.name, one.standing, one.shown_to) for one in found.skills] == [("some-skill", "gone", (1,))]
        assert "Nobody was asked, so nothing was paid." in text_of(page(found))


@pytest.mark.parametrize(
    ("fields", "who"),
    [
        ({"recalled": "its-skill"}, "the skill its-skill"),
        ({"recalled": "its-skill", "stage": Stage.DRAFT}, "hand"),
        ({"recalled": "its-skill", "stage": Stage.DRAFT, "author": "maker"}, "maker"),
        ({}, "hand"),
    ],
)
def test_a_kernel_that_was_written_for_a_prompt_is_its_authors_even_if_a_skill_has_the_same(
    kb: KnowledgeBase, home: Path, fields: dict[str, object], who: str
) -> None:
    run = started(home, synthesizer=SynthesizerKind.EXTERNAL, authors=())
    judge(run, propose(run, candidate(), **fields))

    found = report(kb, run)

    assert f"Written by {who} " in text_of(page(found))
    assert f"| written by | {md(who)} |" in markdown(found)


def test_without_matplotlib_the_page_says_what_to_install(found: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert "matplotlib is not installed; `pip install 'kb-hardware[plot]'` installs it" in text_of(page(found))


def test_the_page_needs_no_network_and_runs_no_script(found: Report) -> None:
    html = LexborHTMLParser(page(found))

    policy = html.css_first("meta[http-equiv=Content-Security-Policy]").attributes["content"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert html.css("script, link, img, iframe, object, embed, form, base") == []
    assert {link.attributes["href"][0] for link in html.css("a")} == {"#"}
    assert re.findall(r"@import|url\([^#]", page(found)) == []


def test_each_link_leads_to_a_part_of_the_page(found: Report) -> None:
    html = LexborHTMLParser(page(found))

    ids = [node.attributes["id"] for node in html.css("[id]")]
    assert {link.attributes["href"][1:] for link in html.css("a")} <= set(ids)
    assert len(ids) == len(set(ids))


def test_a_fact_that_is_cited_has_its_text_and_a_removed_one_says_so(
    kb: KnowledgeBase, home: Path, manuals: Path
) -> None:
    kb.ingest([manuals])
    (hit, *_) = kb.search("local data share", target="mi300x").hits
    id_, run = hit.passage.citation.id, started(home)
    ask(run, cited=(id_, "0123456789ab"))
    answer(run)
    judge(run, propose(run, candidate(), author="a", stage=Stage.DRAFT))

    stands, gone = report(kb, run).cited

    assert (stands.state, gone.state) == ("stands", "gone")
    assert "64 KB of local data share" in stands.text
    assert "64 KB of local data share" in text_of(page(report(kb, run)))


def test_nothing_of_a_private_document_is_in_a_report(home: Path, kb: KnowledgeBase, manuals: Path) -> None:
    kb.ingest([manuals], private=True)
    (hit, *_) = kb.search("local data share", target="mi300x").hits
    id_, run = hit.passage.citation.id, started(home)
    secret = "Each compute unit has 64 KB of local data share (LDS)."
    ask(run, said=f"- {secret} [1:5]", cited=(id_,))
    answer(run, f"No kernel. {secret}")
    ask(run, said="again", cited=(id_,))
    answer(run)
    detail = f"at best 25 us at 64 KB of local data share [kb cite {id_}]\nand a line that cites nothing"
    kernel = propose(run, f"int x;\n//  {secret}\n", author="a", stage=Stage.DRAFT, note=f"as: {secret}")
    judge(run, kernel, detail=detail)
    judge(run, propose(run, "int y;\n", author="a", stage=Stage.IMPROVE, parent=1), speedup=None, log=secret)

    with KnowledgeBase(kb.settings, embedder=HashEmbedder(), without_private=True) as public:
        reports, seen = [report(kb, run), report(public, run)], kb_run(public, run.id, report=True)
        told = [opened(public, run, run_view(run)).model_dump_json(), seen.model_dump_json()]

    for found in reports:
        assert [one.state for one in found.cited] == ["private"]
        told += [found.model_dump_json(), page(found), markdown(found)]
        assert "and a line that cites nothing" in page(found)
        assert "This prompt quotes a private document" in page(found)
    for shown in told:
        assert "64 KB" not in shown
        assert "memory.md" not in shown
    assert len(seen.attempts) == 2
    assert "64 KB" in kb_run(kb, run.id).model_dump_json()


def test_the_diff_for_a_pull_request_is_a_new_file_or_the_change_of_a_skills_kernel(
    kb: KnowledgeBase, home: Path
) -> None:
    new, changed, same = started(home), started(home), started(home)
    judge(same, propose(same, "a\n", recalled="its-skill"))
    judge(new, propose(new, "a\nb\n", author="a", stage=Stage.DRAFT))
    judge(changed, propose(changed, candidate(), recalled="its-skill"))
    judge(changed, propose(changed, candidate(UNROLL=8), parent=1), speedup=2.9)

    assert report(kb, same).winning_diff == "--- /dev/null\n+++ row-sum.cpp\n@@ -0,0 +1 @@\n+a"
    assert report(kb, new).winning_diff == "--- /dev/null\n+++ row-sum.cpp\n@@ -0,0 +1,2 @@\n+a\n+b"
    assert report(kb, changed).winning_diff.startswith("--- its-skill\n+++ row-sum.cpp\n@@ ")
    assert report(kb, changed).winning_diff in markdown(report(kb, changed))


@pytest.mark.parametrize("text", ["plain", "a `tick`", "``", "a | b", "", "@name #12 <b>", "`"])
def test_a_quoted_text_is_one_cell_of_markdown(text: str) -> None:
    from markdown_it import MarkdownIt

    html = MarkdownIt("gfm-like", {"linkify": False}).render(f"| a |\n|---|\n| {md(text)} |\n")

    (cell,) = LexborHTMLParser(html).css("td")
    assert cell.css_first("code").text().strip() == text
    assert len(cell.css("*")) == 2


def test_a_text_cannot_end_its_fence() -> None:
    assert fence("a\n````\nb", "cpp") == "`````cpp\na\n````\nb\n`````"
