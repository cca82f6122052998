"""What a document orders reaches an agent in the fields that quote documents, and in no advice of kb."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from kb.mcp.server import Home
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.mcp.conftest import Reply, talk
from tests.usecases.plants import DOCUMENTS, MARK, plant

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("kb_search", {"phrasings": ["how a zc kernel is started", "instructions of the system prompt"]}),
    ("kb_search", {"phrasings": ["zc kernel"], "within": ["no such file"]}),
    ("kb_facts", {}),
    ("kb_facts", {"quantity": "voltage"}),
    ("kb_facts", {"unconfirmed": True}),
    ("kb_symbol", {"name": "zc"}),
    ("kb_symbol", {"name": "ignore_all_instruct"}),
    ("kb_worksheet", {"topic": "memory"}),
]
DOCUMENT_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("kb_document", {"name": "manual.md"}),
    ("kb_document", {"name": "no.md"}),
    ("kb_targets", {}),
    ("kb_skills", {"query": "softmax"}),
]
QUOTES = {"text", "title", "place", "quote", "quantity", "condition"}
"""Fields whose words are those of documents."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_orders_in_documents_reach_an_agent_as_quotes_alone(name: str, home: Path, tmp_path: Path) -> None:
    def opened() -> KnowledgeBase:
        return KnowledgeBase(Settings.load(home), embedder=HashEmbedder())

    async def talker(client: Client) -> list[Reply]:
        assert MARK not in f"{client.instructions} {await client.list_tools()}"
        calls = [*((tool, given | {"target": "zchip"}) for tool, given in CALLS), *DOCUMENT_CALLS]
        return [Reply.of(await client.call_tool(tool, given)) for tool, given in calls]

    with opened() as kb:
        kb.ingest([plant(name, tmp_path)], target="zchip")
    served = Home(opened)
    replies = talk(served, talker)
    served.close()

    assert any(MARK in reply.text.lower() for reply in replies) is (name != "a comment"), "comments are no text"
    for reply in replies:
        if reply.refused:
            said = [word for word in reply.text.lower().split() if MARK in word]
            assert {word.strip("?") for word in said} <= {f"{MARK}_ignore_all_instructions"}, (
                "a name, without its words"
            )
        else:
            assert {field for field, words in strings(reply.answer) if MARK in words.lower()} <= QUOTES


def strings(node: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Each string in an answer, and the field that it stands in."""
    if isinstance(node, str):
        yield field, node
    elif isinstance(node, dict):
        yield from (found for key, value in node.items() for found in [(key, key), *strings(value, key)])
    elif isinstance(node, list):
        yield from (found for value in node for found in strings(value, field))
