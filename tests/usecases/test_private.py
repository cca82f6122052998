"""Private documents, and what they state, reach no author who may carry them off the user's machines."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest
import typer

from eval.languages.registry import CPP
from eval.oracle.task import load_task
from kb.catalog import Catalog
from kb.cli.mcp import mcp
from kb.errors import CitationError, DocumentError, FactError, KbError, SkillError
from kb.runs.journal import SynthesizerKind
from kb.settings import Settings
from kb.types.fact import FactAnswer
from kb.usecases.knowledge_base import KnowledgeBase
from synth.authors.spending import Budget
from tests.conftest import HashEmbedder
from tests.runs.fakes import template
from tests.synth.samples import INTERFACE, candidate, evidence

SOFTMAX = load_task(Path(__file__).parents[2] / "examples" / "softmax.py")
OPEN = (
    "# Zchip\n\nA kernel starts with `zstart` on each of its cores. The scratchpad holds 48 KiB per core.\n\n"
    "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"
    "| wavefront_size | 16 | lane | zstart | the manual |\n\n"
)
SECRET = (
    "# Zchip programming\n\nThe planted instruction `zsecret.mma` multiplies tiles of a kernel on each core.\n\n"
    "The special function unit computes exponentials by the planted instruction `zsecret.exp`.\n\n"
    "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"
    "| lds_size | 68243 | KiB | per planted core | the manual |\n\n"
    "## Kernel example\n\n```c\nzsecret_planted();\n```\n"
)


@pytest.fixture
def kb(home: Path, tmp_path: Path) -> KnowledgeBase:
    folder = tmp_path / "zchip"
    (folder / "nda").mkdir(parents=True)
    (folder / "open.md").write_text(OPEN)
    (folder / "nda" / "secret.md").write_text(SECRET)
    kb = KnowledgeBase(Settings.load(home), embedder=HashEmbedder())
    kb.ingest([folder / "nda"], target="zchip", parent="gfx942", private=True)
    kb.ingest([folder / "open.md"], target="zchip")
    return kb


def plan(kb: KnowledgeBase, *authors: str) -> Any:
    return kb.plan(
        SOFTMAX, "zchip", language="triton", synthesizer="external", authors=authors, budget=Budget(tokens=10**6)
    )


def prompt(kb: KnowledgeBase, *authors: str) -> str:
    return kb.draft_prompt(plan(kb, *authors), INTERFACE, budget_tokens=16_000).text


LOCAL = ["openai:m@http://127.0.0.1:1/v1", "recorded:."]
HOSTED = ["claude-opus-5-5", "openai:m@http://gpu:1/v1", "command:cat", "files:somewhere"]


@pytest.mark.parametrize("author", HOSTED)
def test_a_hosted_author_gets_no_private_text_and_no_private_number(kb: KnowledgeBase, author: str) -> None:
    text = prompt(kb, author)

    assert "zstart" in text, "the open manual is there"
    for planted in ("zsecret", "planted", "68243", "nda/secret"):
        assert planted not in text


@pytest.mark.parametrize("author", LOCAL)
def test_a_local_author_gets_it(kb: KnowledgeBase, author: str) -> None:
    text = prompt(kb, author)

    assert "zsecret.exp" in text
    assert "68243" in text


def test_one_hosted_author_among_local_ones_is_enough_to_hold_it_back(kb: KnowledgeBase) -> None:
    assert "zsecret" not in prompt(kb, *LOCAL, HOSTED[0])


def test_a_prompt_for_somebody_unknown_holds_it_back_unless_the_user_says_so(home: Path, kb: KnowledgeBase) -> None:
    assert "zsecret" not in prompt(kb)
    (home / "kb.toml").write_text('local_authors = "external"\n')
    assert "zsecret" in prompt(KnowledgeBase(Settings.load(home), embedder=HashEmbedder()))


def test_the_run_says_what_it_held_back(home: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    kb.notify = told.append
    kb.public.notify = told.append
    monkeypatch.setattr("kb.usecases.running.interface_of", lambda *given: INTERFACE)

    run, first = kb.prompt(plan(kb))

    assert "zsecret" not in first.text
    assert any("no author gets what is private: " in text and "secret.md" in text for text in told)
    assert run.plan.held_back == 1
    assert b"zsecret" not in b"".join(file.read_bytes() for file in run.folder.rglob("*") if file.is_file())


class FakeJudge:
    """Remembers the facts that it may speak of."""

    given: list[str]
    interface = INTERFACE

    def __init__(self, task: object, *, facts: list, **named: object) -> None:
        type(self).given = [fact.value for fact in facts]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...

    def verify(self, one: Any) -> Any:
        return evidence(one)


def test_the_judge_of_a_hosted_run_speaks_of_no_private_number(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.usecases.judging.LocalJudge", FakeJudge)
    for authors, knows in (((), False), (tuple(LOCAL), True)):
        by_hand = {"synthesizer": SynthesizerKind.EXTERNAL}
        run = kb.runs.start(plan(kb, *authors).model_copy(update=by_hand))
        kb.submit(run, "```python\nx = 1\n```")
        assert ("68243" in FakeJudge.given) is knows


QUESTIONS: list[Callable[[KnowledgeBase], object]] = [
    lambda kb: kb.search("zsecret.mma multiplies tiles", target="zchip"),
    lambda kb: kb.search(["planted instruction", "zsecret kernel example"]),
    lambda kb: kb.context("planted instruction multiplies tiles", target="zchip"),
    lambda kb: kb.symbol("zsecret.mma", target="zchip"),
    lambda kb: kb.known_facts("zchip"),
    lambda kb: kb.standings("zchip"),
    lambda kb: kb.worksheet("zchip"),
    lambda kb: list(kb.fact_questions("zchip", everything=True)),
    lambda kb: kb.conflicts("zchip"),
    lambda kb: kb.documents.stored(),
]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_no_answer_of_the_public_home_has_anything_of_it(
    kb: KnowledgeBase, ask: Callable[[KnowledgeBase], object]
) -> None:
    ask(kb)  # what a private search has cached serves no public one

    try:
        answer = str(ask(kb.public))
    except KbError as error:
        answer = f"{error} {error.hint}"

    assert "nda/secret" not in answer
    assert "68243" not in answer
    assert "multiplies tiles of" not in answer
    ask(kb)


def test_the_ids_of_private_places_lead_nowhere_in_the_public_home(kb: KnowledgeBase) -> None:
    hit = kb.search("zsecret.mma multiplies tiles", target="zchip").hits[0]
    assert "zsecret" in hit.passage.text
    with pytest.raises(CitationError):
        kb.public.cite(hit.passage.citation.id)
    with pytest.raises(DocumentError):
        kb.public.documents.outline("secret.md")
    with pytest.raises(FactError):
        kb.public.facts("zchip", "lds_size")
    quote = FactAnswer(quantity="lds_size", value="68243", unit="KiB", quote="68243 | KiB")
    assert kb.public.answer_facts("zchip", [quote]).refused


def test_what_is_private_stays_so_and_new_files_beside_it_are_too(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "zchip"
    (folder / "nda" / "secret.md").write_text(SECRET.replace("tiles", "blocks"))
    (folder / "nda" / "deeper").mkdir()
    (folder / "nda" / "deeper" / "new.md").write_text("# New\n\nMore planted words.\n")
    (folder / "nda-less.md").write_text("# Other\n\nAn open page.\n")

    kb.ingest([folder], target="zchip")
    assert [Path(d.path).name for d in kb.documents.stored("zchip") if d.private] == ["new.md", "secret.md"]

    kb.ingest([folder / "nda"], target="zchip", private=False)
    assert not [d for d in kb.documents.stored("zchip") if d.private]


def test_sheets_that_ship_can_be_added_to_a_home_that_holds_back(home: Path) -> None:
    kb = KnowledgeBase(Settings.load(home), embedder=HashEmbedder(), without_private=True)

    assert kb.facts("mi300x")


def test_a_catalog_of_the_version_before_gets_the_column(home: Path) -> None:
    KnowledgeBase(Settings.load(home), embedder=HashEmbedder()).facts("mi300x")
    with sqlite3.connect(home / "catalog.sqlite") as db:
        db.execute("DROP INDEX document_private")
        db.execute("ALTER TABLE document DROP COLUMN private")
        db.execute("PRAGMA user_version = 5")
    db.close()

    with Catalog(home) as catalog:
        assert not any(document.private for document in catalog.documents())


@pytest.mark.parametrize(("own", "served"), [("", False), ("mcp", True)])
def test_agents_over_mcp_get_it_only_if_the_user_says_that_their_model_is_his_own(
    own: str, served: bool, home: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KB_HOME", str(home))
    monkeypatch.setenv("KB_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("KB_LOCAL_AUTHORS", own)

    opened = list[Callable[[], KnowledgeBase]]()
    monkeypatch.setattr("kb.mcp.server.serve", lambda open_kb, *, runs_tasks: opened.append(open_kb))
    mcp(cast("typer.Context", SimpleNamespace(invoked_subcommand=None)))
    with opened[0]() as agents:
        assert ("planted instruction" in str(agents.search("zsecret.mma multiplies tiles"))) is served


def test_skills_and_evidence_that_cite_a_private_place_are_left_out(kb: KnowledgeBase) -> None:
    cited = kb.search("zsecret.mma multiplies tiles", target="zchip").hits[0].passage.citation.id
    shown = evidence(candidate(CPP)).model_copy(update={"detail": f"68243 KiB fit [kb cite {cited}]"})
    plain = shown.model_copy(update={"detail": "nothing of it"})
    one = template().model_copy(update={"evidence": (shown, plain)})
    kb.skills.publish(one)
    kb.skills.publish(one.model_copy(update={"name": "resting", "citations": (cited,), "evidence": ()}))

    public = {skill.name: skill for skill in kb.public.skills.known()}

    assert "resting" in {skill.name for skill in kb.skills.known()} - public.keys()
    assert [e.detail for e in public[one.name].evidence] == ["nothing of it"]
    with pytest.raises(SkillError):
        kb.public.skills.find("resting")
