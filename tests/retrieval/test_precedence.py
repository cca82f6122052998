"""What is in force comes first: errata before what they correct, drafts and archives last."""

from pathlib import Path

import pytest

from kb.settings import Settings
from kb.types.fact import FactAnswer
from kb.usecases.knowledge_base import KnowledgeBase

CURRENT = "A zburst is 64 bytes of the outer memory, and its first address is a multiple of that.\n"
DOCUMENTS = {
    "reference.md": f"# Zchip reference\n\n## Transfers\n\n{CURRENT}",
    "draft-v0.7/reference.md": f"# Zchip reference\n\n## Transfers\n\nA zburst, zburst, zburst: {CURRENT}",
    "errata.md": f"# Zchip errata\n\n## E1\n\nPrinted: {CURRENT}\nCorrect: 128 bytes.\n",
    "notes.md": "# Zchip notes\n\nA zburst of the engine is counted by the host.\n",
}


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    for name, text in DOCUMENTS.items():
        file = tmp_path / "zchip" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    kb = KnowledgeBase(Settings(home=tmp_path / "home", embedding_model="none"))
    kb.ingest([tmp_path / "zchip"])
    return kb


def names(kb: KnowledgeBase) -> list[str]:
    hits = kb.search("how many bytes is a zburst?", target="zchip").hits
    return [hit.passage.citation.path.removeprefix("zchip/") for hit in hits]


def test_an_erratum_comes_before_the_passage_that_it_quotes(kb: KnowledgeBase) -> None:
    with kb:
        found = names(kb)
    assert found.index("errata.md") < found.index("reference.md")


def test_a_draft_comes_last_however_well_it_fits(kb: KnowledgeBase) -> None:
    with kb:
        assert names(kb)[-1] == "draft-v0.7/reference.md"


def test_a_draft_answers_where_nothing_else_does(kb: KnowledgeBase) -> None:
    with kb:
        kb.documents.remove(["zchip/reference.md", "errata.md", "notes.md"])
        assert names(kb) == ["draft-v0.7/reference.md"]


def test_a_quote_that_a_draft_has_too_is_cited_from_what_is_in_force(kb: KnowledgeBase) -> None:
    answer = FactAnswer(
        quantity="burst", value="64", unit="bytes", quote=f"A zburst is 64 bytes{CURRENT[20:].rstrip()}"
    )
    with kb:
        kb.documents.remove(["errata.md"])
        [fact] = kb.answer_facts("zchip", [answer]).stored
    assert fact.citation.path == "zchip/reference.md"
