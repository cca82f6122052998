"""Scripts and markup that somebody planted in what a report shows are text there: no element, attribute or link."""

from collections import Counter

import pytest
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from kb.runs.entries import JournalEntry
from kb.runs.journal import Run
from kb.settings import Settings
from kb.types.evidence import CaseResult, Finding, KernelScreen, Outcome
from kb.types.kernels import Task
from kb.types.protocols import Stage
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.report import Report, report
from kb.web.report import markdown, page
from synth.authors.author import Outcome as Failure
from tests.conftest import HashEmbedder
from tests.runs.fakes import template
from tests.web.fakes import answer, ask, judge, propose, started

PLANTS = [
    "<script>planted()</script>",
    "</script><script src=//planted.example/x.js></script>",
    "<img src=x onerror=planted()>",
    "<svg onload=planted()></svg>",
    "<svg><script>planted()</script></svg>",
    "<svg><a xlink:href='javascript:planted()'><text>planted</text></a></svg>",
    "<math><mi xlink:href='javascript:planted()'>planted</mi></math>",
    "<iframe srcdoc='<script>planted()</script>'></iframe>",
    "<object data='javascript:planted()'></object>",
    "<embed src='javascript:planted()'>",
    "<a href='javascript:planted()'>planted</a>",
    "<form action='https://planted.example'><button>planted</button></form>",
    "<base href='https://planted.example/'>",
    "<link rel=stylesheet href=https://planted.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://planted.example'>",
    "<style>body{display:none}</style>",
    "</style><script>planted()</script>",
    "</pre></details></section></main><h1>planted</h1>",
    "</title><script>planted()</script>",
    "<!--><script>planted()</script>-->",
    "]]><script>planted()</script>",
    "\"'><img src=x onerror=planted()>",
    "' onmouseover='planted()",
    '" style="background:url(https://planted.example)" tabindex="1',
    "{{ 7 * 7 }}{% for x in r %}planted{% endfor %}",
    "{{ r.__class__.__mro__ }}",
    "&lt;script&gt;planted()&lt;/script&gt;",
    "<template shadowrootmode=open><script>planted()</script></template>",
    "[planted](javascript:planted()) ![planted](https://planted.example/x.png) <https://planted.example>",
    "```\n</code></pre><b>planted</b> | planted | @planted #1\n~~~",
    "\u202eplanted\u2066\x00\x1b]8;;https://planted.example\x07",
]
HARMLESS = "planted"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of a run in which all who could wrote each plant: documents, skills, authors, kernels, the judge."""
    folder = tmp_path_factory.mktemp("planted")
    manuals = folder / "manuals" / "mi300x"
    manuals.mkdir(parents=True)
    with KnowledgeBase(Settings.load(folder / "home"), embedder=HashEmbedder()) as kb:
        for plant in PLANTS:
            name = plant.translate(dict.fromkeys(map(ord, "/\0\n"), "_"))
            (manuals / f"{name}.md").write_text(f"# {plant}\n\nThe share {plant} holds 64 KB.\n", encoding="utf-8")
        kb.ingest([manuals.parent])
        own = [document.source for document in kb.documents.stored("mi300x") if not document.ships_with_kb]
        cited = [p.citation.id for source in own for p in kb.documents.outline(source, whole=True).passages]
        run = started(folder / "home", task=Task(name="row-sum", source="".join(PLANTS)), authors=(*PLANTS,))
        for number, plant in enumerate(PLANTS):
            kb.skills.publish(template(name=f"planted-{number}").model_copy(update={"description": plant}))
            plant_in(run, plant, number, tuple(cited))
        return report(kb, run)


def plant_in(run: Run, plant: str, number: int, cited: tuple[str, ...]) -> None:
    ask(run, said=plant, cited=cited, skills=(plant,))
    answer(run, f"no kernel: {plant}", model=plant, at=plant, author=plant)
    ask(run, said=plant, cited=cited)
    answer(run, plant, Failure.INVALID, author=plant)
    ask(run, said=plant, cited=cited)
    answer(run)
    finding = Finding(check=plant, state="warn", message=plant, citation=plant)
    screen = KernelScreen(
        kernel=plant, isa="cuda 90 32", num_warps=1, registers=1, spills=0, scratchpad_bytes=0, occupancy=None,
        matrix_instructions={}, memory_instructions={}, findings=(finding,),
    )  # fmt: skip
    said = {"detail": plant, "environment": {plant: plant}, "log": plant, "created": plant}
    own = {"author": plant, "note": plant, "skills_used": (f"planted-{number}", plant), "recalled": plant}
    judge(run, propose(run, f"// {plant}\n", stage=Stage.DRAFT, **own), **said, screen=(screen,))
    case = CaseResult(name=plant, outcome=Outcome.INCORRECT, detail=plant)
    wrong = propose(run, f"/* {plant} */\n", parent=run.step - 1, **own)
    judge(run, wrong, speedup=None, cases=(case,), **said)
    run.append(JournalEntry(kind="published", step=1, text=plant))
    run.append(JournalEntry(kind="ended", step=2, text=plant))


@pytest.fixture(scope="module")
def html(found: Report) -> str:
    return page(found)


def skeleton(html: str) -> Counter[tuple[str, tuple[str, ...]]]:
    """The elements with the names of their attributes; without the words that code is cut into."""
    return Counter(
        (node.tag, tuple(sorted(node.attributes)))
        for node in LexborHTMLParser(html).css("*")
        if not (node.tag == "span" and node.parent and node.parent.tag in ("pre", "span"))
    )


def replaced(value: object) -> object:
    """The same report without the plants."""
    match value:
        case dict():
            return {replaced(key): replaced(each) for key, each in value.items()}
        case list():
            return [*map(replaced, value)]
        case str():
            for plant in sorted(PLANTS, key=len, reverse=True):
                value = value.replace(plant, HARMLESS)
    return value


def test_what_is_planted_adds_no_element_and_no_attribute(found: Report, html: str) -> None:
    harmless = Report.model_validate(replaced(found.model_dump(mode="json")))

    assert skeleton(html) == skeleton(page(harmless))


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_planted_is_shown_as_text(plant: str, html: str) -> None:
    visible = plant.translate({0x202E: "\\u202e", 0x2066: "\\u2066", 0: "\\x00", 0x1B: "\\x1b", 7: "\\x07"})

    assert LexborHTMLParser(html).body.text(deep=True).count(visible) > 20


def test_what_is_planted_is_code_in_markdown(found: Report) -> None:
    for number in range(1, len(found.candidates) + 1):
        text = markdown(found.model_copy(update={"best": number}))

        html = LexborHTMLParser(MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text))

        tags = {node.tag for node in html.body.css("*")}
        assert tags <= {"body", "h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre"}
        for code in html.css("code"):
            code.decompose()
        assert "planted" not in html.body.text(deep=True)
