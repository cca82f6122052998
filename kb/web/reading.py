"""The pages that change nothing. Each function gets the query of an address, and answers with a page or elsewhere."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse, Response

from kb.errors import DocumentError
from kb.web.pages import url

if TYPE_CHECKING:  # the first question opens it; loading it here would delay the start
    from kb.usecases.knowledge_base import KnowledgeBase

DAY = "private, max-age=86400, immutable"
SCHEMES = """
:root { color: #1c1c1a; --accent: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { color: #e8e8e2; --accent: #85bdf5; } }
"""
"""The colours of a picture, as in static/style.css, which a picture cannot read."""


class Page(NamedTuple):
    template: str
    values: dict[str, Any]


def search(kb: "KnowledgeBase", query: QueryParams) -> Page:
    from kb.types.passages import SearchFilter
    from kb.views.hits import found_passages
    from kb.views.targets import targets

    asked = [line.strip() for line in (query.get("q", ""), *query.get("also", "").splitlines()) if line.strip()]
    found = None
    if asked:
        only = SearchFilter(numbers=True) if query.get("numbers") else None
        target, compare = query.get("target") or None, bool(query.get("compare"))
        found = found_passages(kb.search(asked, target=target, compare=compare, only=only), why=True)
    given = {name: query.get(name, "") for name in ("q", "also", "target", "compare", "numbers")}
    return Page("search.html", {"found": found, "query": given, "targets": targets(kb).targets})


def documents(kb: "KnowledgeBase", query: QueryParams) -> Page:
    target = query.get("target") or None
    stored = kb.documents.stored(target)
    return Page("documents.html", {"documents": stored, "target": target})


def document(kb: "KnowledgeBase", query: QueryParams) -> Page:
    from kb.views.documents import document
    from kb.views.reading import reading

    path, cited = query.get("path", ""), query.get("cited", "")
    section = _number(query, "section") if query.get("section") else None
    page, start = _number(query, "page", least=1), _number(query, "from")
    shown = reading(kb, path, page=page, start=start, section=section, cited=cited)
    return Page("document.html", {"document": document(kb, path), "reading": shown})


def page_image(kb: "KnowledgeBase", query: QueryParams) -> Response:
    """A page of a PDF. Its address has the digest of the file, so that a browser can keep it."""
    image = kb.documents.page_image(query.get("path", ""), _number(query, "page", least=1))
    return Response(image, media_type="image/png", headers={"Cache-Control": DAY})


def cite(kb: "KnowledgeBase", query: QueryParams) -> Response:
    """The document, opened at the place that an id cites."""
    key = query.get("id", "")
    passage, place = kb.documents.passage(key), kb.documents.cite(key).citation
    is_pdf = kb.documents.get(place.path).format == "pdf"
    where = {"page": place.line_start} if is_pdf else {"from": passage.ordinal}
    address = url("/document", {"path": place.path, **where, "cited": key}, passage.citation.id)
    return RedirectResponse(address, status_code=303)


def quote(kb: "KnowledgeBase", query: QueryParams) -> Page:
    """A part of a page: the passage that a fact is stated in, with its words marked."""
    from kb.views.reading import quoted

    key = query.get("id", "")
    return Page("quote.html", {"passage": quoted(kb, key), "fact": key})


def facts(kb: "KnowledgeBase", query: QueryParams) -> Page:
    from kb.views.facts import answered, conflicts
    from kb.views.targets import targets

    if not (target := query.get("target")):
        return Page("targets.html", {"targets": targets(kb).targets})
    own = kb.targets.get(target)
    lines = answered(kb, own.name)
    found = conflicts(kb, own.name)
    return Page("facts.html", {"target": own, "lines": lines, "conflicts": found, "done": query.get("done", "")})


def skills(kb: "KnowledgeBase", query: QueryParams) -> Page:
    from kb.views.skills import listed

    known = listed(kb, kb.skills.skills())
    queue, problems = listed(kb, kb.skills.proposals()), kb.skills.problems()
    return Page("skills.html", {"skills": known, "queue": queue, "problems": problems})


def skill(kb: "KnowledgeBase", query: QueryParams) -> Page:
    from kb.usecases.curating import compare, review
    from kb.usecases.skill_gains import gains_of
    from kb.views.skills import listed

    held = kb.skills.find(query.get("name", ""))
    [about], others = listed(kb, [held]), [one.name for one in kb.skills.known() if one.name != held.name]
    alike = kb.skills.search(f"{held.name} {' '.join(held.preconditions.ops)}", language=held.language)
    nearest = next((one.name for one in alike if one.name != held.name), "")
    beside = query.get("beside") or nearest
    values = {
        "about": about,
        "review": review(kb, held),
        "gains": gains_of(kb, held),
        "others": others,
        "beside": beside,
        "difference": compare(kb, beside, held.name) if beside else None,
    }
    return Page("skill.html", values)


def runs(kb: "KnowledgeBase", query: QueryParams) -> Page:
    from kb.views.runs import run_view

    shown, problems = [run_view(run) for run in kb.runs], kb.runs.problems()
    return Page("runs.html", {"runs": shown[::-1], "problems": problems})


def run(kb: "KnowledgeBase", query: QueryParams) -> Page | Response:
    """A run; status 204 if its journal has no more entries than were `seen`."""
    from kb.views.runs import run_view

    read = kb.runs.get(query.get("id", ""))
    if query.get("seen") == str(len(read.entries)):
        return Response(status_code=204)
    shown = run_view(read)
    is_drawn = find_spec("matplotlib") is not None and any(attempt.verdict.time_us for attempt in shown.attempts)
    return Page("run.html", {"run": shown, "seen": len(read.entries), "is_drawn": is_drawn})


def curve(kb: "KnowledgeBase", query: QueryParams) -> Response:
    """The progress of a run as a picture in the colours of the browser's scheme."""
    from kb.views.progress import progress
    from kb.views.runs import run_view
    from kb.web.progress import svg_of

    picture = svg_of(progress(run_view(kb.runs.get(query.get("id", "")))))
    start = picture.index(">") + 1
    return Response(f"{picture[:start]}<style>{SCHEMES}</style>{picture[start:]}", media_type="image/svg+xml")


def candidate(kb: "KnowledgeBase", query: QueryParams) -> Page:
    """A part of a page: the code of a run's candidate."""
    attempts = kb.runs.get(query.get("run", "")).attempts
    number = _number(query, "number")
    if not 1 <= number <= len(attempts):
        raise DocumentError(f"the run has no candidate {number}", hint=f"it has {len(attempts)}")
    return Page("candidate.html", {"candidate": attempts[number - 1].candidate})


def settings(kb: "KnowledgeBase", query: QueryParams) -> Page:
    from kb import __version__
    from kb.views.settings import settings_view

    return Page("settings.html", {"settings": settings_view(kb.settings), "version": __version__})


def _number(query: QueryParams, name: str, *, least: int = 0) -> int:
    """A number of a query; `least` if it is none, or less."""
    text = query.get(name, "")
    return max(least, int(text)) if text.isdecimal() and len(text) < 10 else least


PAGES: dict[str, Callable[["KnowledgeBase", QueryParams], Page | Response]] = {
    "/": search,
    "/documents": documents,
    "/document": document,
    "/page.png": page_image,
    "/cite": cite,
    "/quote": quote,
    "/facts": facts,
    "/skills": skills,
    "/skill": skill,
    "/runs": runs,
    "/run": run,
    "/curve.svg": curve,
    "/candidate": candidate,
    "/settings": settings,
}
