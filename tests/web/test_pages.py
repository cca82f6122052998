"""Each page shows what its use case says, and a decision does what the command line does."""

from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from kb.catalog import write_lock
from kb.facts.resolution import FactStanding
from kb.runs.entries import JournalEntry
from kb.runs.journal import Run
from kb.types.skill import SkillStanding
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.reading import reading
from kb.web.reading import PAGES
from tests.web.conftest import TOKEN
from tests.web.stock import CHIP, MANUAL, PDF, judge, stock

PARTS = {"/page.png", "/quote", "/curve.svg", "/candidate", "/cite"}
"""What pages consist of or lead through; all other addresses are pages of their own."""


@pytest.fixture
def run(kb: KnowledgeBase, tmp_path: Path) -> Run:
    return stock(kb, tmp_path / "manuals")


def addresses(kb: KnowledgeBase, run: Run) -> dict[str, str]:
    """Each address with a query that it answers."""
    fact = kb.factbook.standings(CHIP)[0].fact.citation.id
    return {
        "/": "?q=tightly+coupled+memory&also=scratch&target=zchip",
        "/documents": f"?target={CHIP}",
        "/document": f"?path={PDF}&page=2",
        "/page.png": f"?path={PDF}&page=2",
        "/cite": f"?id={fact}",
        "/quote": f"?id={fact}",
        "/facts": f"?target={CHIP}",
        "/skills": "",
        "/skill": "?name=softmax-new",
        "/runs": "",
        "/run": f"?id={run.id}",
        "/curve.svg": f"?id={run.id}",
        "/candidate": f"?run={run.id}&number=1",
        "/settings": "",
    }


def test_every_address_answers_with_and_without_a_query_and_says_what_it_lacks(
    kb: KnowledgeBase, run: Run, browser: TestClient
) -> None:
    known = addresses(kb, run)
    assert known.keys() == PAGES.keys()

    for path, query in known.items():
        assert browser.get(path + query).status_code == (303 if path == "/cite" else 200), path
        assert browser.get(path).status_code in (200, 404), path


def test_every_page_has_one_title_one_heading_and_a_link_past_its_navigation(
    kb: KnowledgeBase, run: Run, browser: TestClient
) -> None:
    for path, query in addresses(kb, run).items():
        if path in PARTS:
            continue
        tree = LexborHTMLParser(browser.get(path + query).text)

        assert [len(tree.css(name)) for name in ("title", "h1", "main", "html[lang]", "a.skip")] == [1] * 5, path
        for field in tree.css("input:not([type=hidden]):not([type=checkbox]), select, textarea"):
            labelled = field.attributes.get("aria-label") or tree.css_first(f"label[for={field.id}]")
            assert labelled, (path, field.html)


def test_a_citation_opens_its_document_at_the_marked_words(kb: KnowledgeBase, run: Run, browser: TestClient) -> None:
    for standing in kb.factbook.standings(CHIP):
        cited = standing.fact.citation

        there = browser.get(f"/cite?id={cited.id}").headers["location"]
        tree = LexborHTMLParser(browser.get(there).text)

        anchor = there.partition("#")[2]
        assert anchor == kb.documents.passage(cited.id).citation.id
        assert [mark.text() for mark in tree.css(f"[id='{anchor}'] mark")] == [standing.fact.quote]


def test_a_cited_row_of_a_table_is_marked_cell_by_cell(kb: KnowledgeBase, run: Run, browser: TestClient) -> None:
    hit = next(h for h in kb.search("Scratch as usual", target=CHIP).hits if h.rows)
    row = hit.rows[0]

    tree = LexborHTMLParser(browser.get(browser.get(f"/cite?id={row.citation.id}").headers["location"]).text)

    assert [mark.text() for mark in tree.css("mark")] == [text for _, text in row.cells]


def test_the_parts_of_a_long_document_follow_each_other_without_a_gap(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "zchip"
    folder.mkdir()
    (folder / "long.md").write_text("# Long\n" + "".join(f"\n## Part {n}\n\nSentence {n}.\n" for n in range(100)))
    kb.ingest([folder], target=CHIP, parent="any")

    seen, start = list[str](), 0
    while start is not None:
        part = reading(kb, "zchip/long.md", start=start)
        seen += [one.id for of in part.parts for one in of]
        if part.next:
            assert reading(kb, "zchip/long.md", start=part.next).previous == start
        start = part.next

    stored = kb.catalog.passages(kb.catalog.chunk_ids(kb.documents.get("zchip/long.md").source))
    assert seen == [passage.citation.id for passage in stored]


def test_a_page_of_a_pdf_is_drawn_beside_its_passages_until_the_file_changes(
    kb: KnowledgeBase, run: Run, browser: TestClient, tmp_path: Path
) -> None:
    shown = browser.get(f"/document?path={PDF}&page=2")
    image = browser.get(LexborHTMLParser(shown.text).css_first("figure img").attributes["src"])
    assert image.content.startswith(b"\x89PNG")
    assert "a queue has 26 entries" in shown.text
    assert browser.get(f"/page.png?path={PDF}&page=3").status_code == 404

    (tmp_path / "manuals" / PDF).write_bytes(b"something else")

    assert "the file has changed" in browser.get(f"/document?path={PDF}").text
    assert browser.get(f"/page.png?path={PDF}&page=1").status_code == 404


def test_a_decision_about_a_fact_is_stored_with_its_reason(kb: KnowledgeBase, run: Run, browser: TestClient) -> None:
    key = next(s.fact.citation.id for s in kb.factbook.standings(CHIP) if s.fact.quantity == "tcm_size")
    became = {"accept": FactStanding.HOLDS, "reject": FactStanding.REJECTED, "reopen": FactStanding.UNCONFIRMED}

    for verb, standing in became.items():
        form = {"token": TOKEN, "id": key, "target": CHIP, "verb": verb, "reason": "read it"}
        answer = browser.post("/facts", data=form)

        assert (answer.status_code, answer.headers["location"].rpartition("#")[2]) == (303, f"fact-{key}")
        assert f'id="fact-{key}"' in browser.get(answer.headers["location"]).text
        assert next(s.standing for s in kb.factbook.standings(CHIP) if s.fact.citation.id == key) is standing


def test_a_proposal_is_accepted_or_rejected_beside_the_difference_to_its_like(
    kb: KnowledgeBase, run: Run, browser: TestClient
) -> None:
    shown = LexborHTMLParser(browser.get("/skill?name=softmax-new&beside=softmax-old").text)
    assert [line.text() for line in shown.css("ins")] == ["+New as usual", "+# New", "+# new"]

    accepted = browser.post("/skill", data={"token": TOKEN, "name": "softmax-new", "verb": "accept", "reason": ""})
    rejected = browser.post("/skill", data={"token": TOKEN, "name": "softmax-old", "verb": "reject", "reason": "slow"})

    assert (accepted.status_code, rejected.status_code) == (303, 303)
    assert kb.skills.find("softmax-new").last_decision.verb == "accept"
    assert kb.skills.standing(kb.skills.find("softmax-old")) is SkillStanding.RETIRED


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/facts", {"id": "000000000000", "verb": "accept"}),
        ("/facts", {"verb": "praise"}),
        ("/skill", {"name": "softmax-new", "verb": "reject"}),
        ("/skill", {"name": "nobody", "verb": "accept"}),
        ("/skill", {"name": "softmax-new", "verb": "use"}),
    ],
)
def test_what_kb_refuses_is_said_with_what_to_do(
    run: Run, browser: TestClient, path: str, form: dict[str, str]
) -> None:
    answer = browser.post(path, data=form | {"token": TOKEN})

    tree = LexborHTMLParser(answer.text)
    assert answer.status_code == 409
    assert tree.css_first("h1").text()
    assert tree.css_first("main p").text()


def test_a_decision_waits_for_no_other_writer(kb: KnowledgeBase, run: Run, browser: TestClient) -> None:
    key = kb.factbook.standings(CHIP)[0].fact.citation.id

    with write_lock(kb.settings.home):
        answer = browser.post("/facts", data={"token": TOKEN, "id": key, "verb": "accept"})

    assert answer.status_code == 409
    assert "is being written by" in answer.text


def test_a_run_is_sent_again_only_when_it_went_on_and_asked_for_only_while_it_is_open(
    run: Run, browser: TestClient
) -> None:
    def polled() -> str | None:
        return LexborHTMLParser(browser.get(f"/run?id={run.id}").text).css_first("#run").attributes.get("hx-get")

    seen = polled()
    assert seen
    assert browser.get(seen).status_code == 204

    judge(run, 3, note="a third")

    assert "a third" in browser.get(seen).text
    run.append(JournalEntry(kind="ended", step=3, text="all evaluations are spent"))
    assert polled() is None


def test_private_documents_are_shown_to_their_owner(kb: KnowledgeBase, browser: TestClient, tmp_path: Path) -> None:
    stock(kb, tmp_path / "manuals")
    kb.ingest([tmp_path / "manuals" / CHIP], target=CHIP, private=True)

    assert ", private" in browser.get("/documents").text
    assert "tightly coupled" in browser.get(f"/document?path={MANUAL}").text


def test_a_heading_leads_to_its_passages_even_if_all_stand_in_one_line(
    kb: KnowledgeBase, browser: TestClient, tmp_path: Path
) -> None:
    folder = tmp_path / "zchip"
    folder.mkdir()
    sections = "".join(f"<h2>Part {n}</h2><p>Sentence {n}.</p>" for n in range(100))
    (folder / "flat.html").write_text(f"<html><body><h1>Flat</h1>{sections}</body></html>")
    kb.ingest([folder], target=CHIP, parent="any")

    shown = LexborHTMLParser(browser.get("/document?path=zchip/flat.html").text)
    links = {link.text(): link.attributes["href"] for link in shown.css(".outline a")}

    assert "Sentence 77." not in shown.body.text()
    there = LexborHTMLParser(browser.get(links["Part 77"]).text)
    assert there.css_first(".passage pre").text() == "Sentence 77."
    assert len(there.css("a[rel=prev]")) == 2
