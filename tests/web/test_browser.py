"""The page in Chromium: its main ways by mouse and keyboard, wide and narrow, light and dark, without an error."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.facts.resolution import FactStanding
from kb.runs.entries import JournalEntry
from kb.usecases.knowledge_base import KnowledgeBase
from tests.web.stock import CHIP, MANUAL, PDF, judge, stock
from tests.web.test_markup import PLANTED

api = pytest.importorskip("playwright.sync_api", reason="`make test-browser` installs playwright")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="`make test-browser` installs it")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")]

LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
PAGES = [
    "/",
    "/?q=memory",
    "/documents",
    f"/document?path={MANUAL}",
    f"/document?path={PDF}",
    "/facts",
    f"/facts?target={CHIP}",
    "/skills",
    "/skill?name=softmax-new",
    "/runs",
    "/run?id={run}",
    "/settings",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator["api.Browser"]:
    with api.sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def address(home: Path) -> Iterator[str]:
    """Where `kb web` serves the home, in a process of its own."""
    command = [sys.executable, "-m", "kb.cli", "web", "--port", "0"]
    settings = {**os.environ, "KB_HOME": str(home), "KB_EMBEDDING_MODEL": "none"}
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        yield served.stdout.readline().strip().rstrip("/")
        served.terminate()
    assert served.returncode == 143


@pytest.fixture
def page(request: pytest.FixtureRequest, chromium: "api.Browser", address: str) -> Iterator["api.Page"]:
    """An open page, of the width and colours that the test names; at the end nothing must have gone wrong in it."""
    width, scheme = getattr(request, "param", LOOKS[0])
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, base_url=address)
    page, wrong = context.new_page(), list[str]()
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda asked: None if asked.url.startswith(address) else wrong.append(asked.url))
    yield page
    context.close()
    assert wrong == []


def test_a_search_leads_to_the_cited_words(kb: KnowledgeBase, page: "api.Page", tmp_path: Path) -> None:
    stock(kb, tmp_path / "manuals")
    page.goto("/documents")

    page.keyboard.press("/")
    page.wait_for_url("**/")
    page.get_by_label("Question, keywords or an identifier").fill("tightly coupled memory")
    page.get_by_label("Chip or family").select_option(CHIP)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Search").click()
    page.locator(".hits a").first.click()

    cited = page.locator(".cited")
    api.expect(cited).to_contain_text("128 KiB of tightly coupled memory")
    api.expect(cited).to_be_in_viewport()


@pytest.mark.parametrize("page", [LOOKS[0], LOOKS[-1]], indirect=True)
def test_a_fact_is_accepted_after_its_words_were_read(kb: KnowledgeBase, page: "api.Page", tmp_path: Path) -> None:
    stock(kb, tmp_path / "manuals")
    page.goto(f"/facts?target={CHIP}")
    waiting = page.locator(".facts li", has_text="tcm_size")

    api.expect(waiting.locator("mark")).to_have_text("128 KiB of tightly coupled memory")
    waiting.get_by_label("Reason").fill("read it")
    waiting.get_by_role("button", name="Accept tcm_size").press("Enter")

    api.expect(page.locator(".facts li", has_text="tcm_size")).to_contain_text("holds tcm_size = 128 KiB")
    api.expect(page.locator(":target")).to_be_in_viewport()
    held = [s.fact.quantity for s in kb.factbook.standings(CHIP) if s.standing is FactStanding.HOLDS]
    assert "tcm_size" in held


def test_a_held_fact_shows_its_words_when_it_is_opened(kb: KnowledgeBase, page: "api.Page", tmp_path: Path) -> None:
    page.goto("/facts?target=mi300x")
    held = page.locator(".facts li", has_text="lds_size = 64 KiB").first

    held.locator("summary").press("Enter")

    api.expect(held.locator("mark").first).to_have_text("lds_size")


def test_a_skill_is_accepted_beside_its_difference(kb: KnowledgeBase, page: "api.Page", tmp_path: Path) -> None:
    stock(kb, tmp_path / "manuals")
    page.goto("/skills")

    page.get_by_role("link", name="softmax-new").click()
    page.get_by_label("Compare with").select_option("softmax-old")
    page.get_by_role("button", name="Compare").click()
    api.expect(page.locator("ins").first).to_have_text("+New as usual")
    page.get_by_role("button", name="Accept").click()

    api.expect(page.get_by_text("accepted by")).to_be_visible()
    assert kb.skills.find("softmax-new").last_decision.verb == "accept"


def test_a_run_is_followed_until_it_ends_and_what_is_open_stays_open(
    kb: KnowledgeBase, page: "api.Page", tmp_path: Path
) -> None:
    run = stock(kb, tmp_path / "manuals")
    page.goto(f"/run?id={run.id}")
    code = page.locator("#code-1")
    code.locator("summary").click()
    api.expect(code.locator("pre")).to_contain_text("class ModelNew")

    judge(run, 3, note="a third")
    api.expect(page.get_by_role("heading", name="3: passed")).to_be_visible()
    api.expect(code.locator("pre")).to_be_visible()
    run.append(JournalEntry(kind="ended", step=3, text="all evaluations are spent"))
    api.expect(page.get_by_role("status")).to_contain_text("Ended: all evaluations are spent")

    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3000)
    assert asked == []


@pytest.mark.parametrize("page", LOOKS, indirect=True)
def test_every_page_fits_its_screen_and_has_no_serious_barrier(
    kb: KnowledgeBase, page: "api.Page", tmp_path: Path
) -> None:
    run = stock(kb, tmp_path / "manuals")
    for address in PAGES:
        page.goto(address.format(run=run.id))
        page.wait_for_timeout(300)

        found = axe.Axe().run(page).response["violations"]

        assert [(one["id"], one["nodes"]) for one in found if one["impact"] in ("serious", "critical")] == [], address
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


@pytest.mark.parametrize("planted", [PLANTED[n::3] for n in range(3)], ids=range(3))
def test_no_planted_markup_runs_or_loads_anything(
    kb: KnowledgeBase, page: "api.Page", tmp_path: Path, planted: list[str]
) -> None:
    run = stock(kb, tmp_path / "manuals", " say ".join(planted))
    for address in PAGES:
        page.goto(address.format(run=run.id))
        closed = page.locator("details:not([open]) > summary")
        while closed.count():
            closed.first.click()
        page.wait_for_timeout(300)
        api.expect(page.locator("script:not([src^='/static/']), iframe, object, base, style")).to_have_count(0)
