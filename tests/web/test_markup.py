"""What documents, skills, runs and questions say is text on the page, whatever it looks like."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from selectolax.lexbor import LexborHTMLParser
from starlette.testclient import TestClient

from kb.usecases.knowledge_base import KnowledgeBase
from tests.web.conftest import TOKEN
from tests.web.stock import CHIP, MANUAL, PDF, stock

PLANTED = [
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</pre></code><script src=https://evil.example/x.js></script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href='javascript:alert(1)'>here</a>",
    "<form action=https://evil.example><input name=token></form>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>body{display:none}</style>",
    "<div style='position:fixed;inset:0'>over all</div>",
    "<b hx-get=/settings hx-trigger=load>now</b>",
    "<b data-hx-post=/facts data-hx-trigger=load>now</b>",
    "<details open ontoggle=alert(1)>",
    "<body onload=alert(1)>",
    "<object data=data:text/html,hi></object>",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)></style></mglyph></math>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "' autofocus onfocus='alert(1)",
    '" autofocus onfocus="alert(1)',
    "{{ 7 * 6 }} {% raw %} ${7 * 6}",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62;",
    "[here](javascript:alert(1)) ![x](https://evil.example/x.png)",
    "\x1b[31mred\x1b]8;;https://evil.example\x07 \u202eevil\u202c \u2066hidden\u2069 \x9b1m",
]

ELEMENTS = """
html head meta title link script body a header nav ul ol li main footer h1 h2 h3 p pre code mark strong span
br section article details summary div dl dt dd table caption thead tbody tr th td blockquote figure img form
label input select option textarea button ins del
"""
ATTRIBUTES = """
lang charset name content rel href src defer class id tabindex role scope colspan title alt for value type
action method required autofocus selected checked rows open placeholder aria-label aria-current
hx-get hx-trigger hx-target hx-select hx-swap hx-preserve
"""
CONTROLS = [chr(n) for n in (*range(9), 11, *range(14, 32), *range(127, 160), 0x202C, 0x202E, 0x2066, 0x2069)]


def strange(tree: LexborHTMLParser) -> Iterator[str]:
    """What no template of kb writes."""
    for node in tree.css("*"):
        attributes = {name: value or "" for name, value in node.attributes.items()}
        if node.tag not in ELEMENTS.split() or not attributes.keys() <= {*ATTRIBUTES.split()}:
            yield node.html or node.tag
        if not all(attributes.get(name, "/").startswith(("/", "#")) for name in ("href", "src", "action", "hx-get")):
            yield node.html or node.tag
        if node.tag == "script" and (node.text() or not attributes.get("src", "").startswith("/static/")):
            yield node.html or node.tag


def shown(said: str) -> str:
    """The words as the page shows them, with blanks as in running text."""
    return " ".join("".join(repr(c)[1:-1] if c in CONTROLS else c for c in said).split())


@pytest.mark.parametrize("planted", [PLANTED[n::6] for n in range(6)], ids=range(6))
def test_planted_markup_is_shown_as_it_is_written(
    kb: KnowledgeBase, browser: TestClient, tmp_path: Path, planted: list[str]
) -> None:
    words = " say ".join(["", *planted]).strip()
    run = stock(kb, tmp_path / "manuals", words)
    facts = {s.fact.quantity: s.fact.citation.id for s in kb.factbook.standings(CHIP)}
    form = {"token": TOKEN, "id": facts["tcm_size"], "target": CHIP, "verb": "reject", "reason": words}
    assert browser.post("/facts", data=form).status_code == 303
    pages = {
        "/document": {"path": MANUAL},
        "/facts": {"target": CHIP},
        "/quote": {"id": facts["tcm_size"]},
        "/skills": {},
        "/skill": {"name": "softmax-new", "beside": "softmax-old"},
        "/runs": {},
        "/run": {"id": run.id},
        "/candidate": {"run": run.id, "number": "1"},
        "/": {"q": words, "also": words},
    }

    for path, query in pages.items():
        answer = browser.get(path, params=query)

        tree = LexborHTMLParser(answer.text)
        assert answer.status_code == 200, path
        assert [*strange(tree)] == [], path
        assert not any(control in answer.text for control in CONTROLS), path
        if path not in ("/quote", "/"):  # of the manual, its reader leaves only the code as it is
            text = " ".join((tree.body.text() if tree.body else "").split())
            assert [said for said in planted if shown(said) not in text] == [], path


@pytest.mark.parametrize("said", PLANTED, ids=range(len(PLANTED)))
@pytest.mark.parametrize("path", ["/document?path=", "/cite?id=", "/facts?target=", "/skill?name=", "/run?id="])
def test_what_an_address_says_is_text_in_the_refusal(browser: TestClient, path: str, said: str) -> None:
    asked, _, name = path[:-1].partition("?")

    answer = browser.get(f"{asked}?{urlencode({name: said})}")

    assert answer.status_code == 404
    assert [*strange(LexborHTMLParser(answer.text))] == []


def test_names_of_files_and_titles_of_skills_are_text_and_their_links_lead_to_them(
    kb: KnowledgeBase, browser: TestClient, tmp_path: Path
) -> None:
    names = [said.replace("/", "⁄") for said in PLANTED if "\x1b" not in said]
    folder = tmp_path / CHIP
    folder.mkdir()
    for number, name in enumerate(names):
        (folder / f"{name}.md").write_text(f"# Heading {number}\n\nText {number}.\n", encoding="utf-8")
    kb.ingest([folder], target=CHIP, parent="any")

    listed = LexborHTMLParser(browser.get("/documents").text)
    links = {link.text(): link.attributes["href"] for link in listed.css("td a")}

    assert [*strange(listed)] == []
    assert links.keys() == {f"{CHIP}/{name}.md" for name in names}
    for address in links.values():
        document = browser.get(address or "")
        assert (document.status_code, [*strange(LexborHTMLParser(document.text))]) == (200, [])


def test_a_token_reaches_pages_alone(kb: KnowledgeBase, browser: TestClient, tmp_path: Path) -> None:
    stock(kb, tmp_path / "manuals")

    assert json.dumps(TOKEN) in browser.get(f"/facts?target={CHIP}").text
    assert TOKEN not in browser.get(f"/document?path={PDF}").text
