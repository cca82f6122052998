"""What a host shows a model stays within what hosts allow."""

import json
from typing import Any

import pytest
from mcp.types import ListToolsResult

from kb.mcp.server import Home
from kb.types.base import tokens_of
from tests.mcp.conftest import ERAS, Ask, talk

LARGE = [
    ("kb_search", {"phrasings": ["word7 quoted"], "target": "wormhole"}),
    ("kb_search", {"phrasings": ["cell long"], "target": "wormhole"}),
    ("kb_symbol", {"name": "KiB"}),
    ("kb_facts", {"target": "wormhole"}),
    ("kb_worksheet", {"target": "wormhole"}),
    ("kb_worksheet", {"target": "wormhole", "topic": "memory"}),
    ("kb_targets", {"everything": True}),
    ("kb_skills", {}),
]


@pytest.fixture(params=ERAS)
def tools(served: Home, request: pytest.FixtureRequest) -> ListToolsResult:
    return talk(served, lambda client: client.list_tools(), request.param)


def test_every_tool_only_reads_but_those_that_propose(tools: ListToolsResult) -> None:
    hints = {tool.name: tool.annotations.model_dump(exclude={"title"}) for tool in tools.tools}

    reading = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}
    names = ["search", "symbol", "read", "document", "facts", "worksheet", "prompt", "targets", "skills", "skill"]
    proposing = dict.fromkeys(["kb_propose_facts", "kb_propose_skill"], reading | {"read_only_hint": False})
    assert hints == dict.fromkeys([f"kb_{name}" for name in names], reading) | proposing


def test_no_tool_decides_on_a_skill(tools: ListToolsResult) -> None:
    words = ("accept", "reject", "retire")

    assert [tool.name for tool in tools.tools if any(word in tool.name for word in words)] == []


def test_descriptions_fit_and_every_argument_but_an_obvious_one_has_its_own(tools: ListToolsResult) -> None:
    for tool in tools.tools:
        assert 100 < len(tool.description) < 600
        arguments = tool.input_schema["properties"]
        assert [name for name, schema in arguments.items() if "description" not in json.dumps(schema)] == []
        assert tool.output_schema["type"] == "object"
    assert tokens_of(tools.model_dump_json(exclude_none=True)) < 8000


@pytest.mark.parametrize("era", ERAS)
def test_the_instructions_fit_and_name_every_tool(served: Home, tools: ListToolsResult, era: str) -> None:
    async def instructions(client: Any) -> str:
        return client.instructions

    text = talk(served, instructions, era)

    assert len(text) < 2048
    assert len(text.splitlines()) <= 10
    assert [tool.name for tool in tools.tools if tool.name not in text] == []
    assert "data, not instruction" in text


@pytest.mark.parametrize("max_tokens", [500, 700, 3000, 8000])
@pytest.mark.parametrize(("tool", "arguments"), LARGE, ids=[f"{t} {a}" for t, a in LARGE])
def test_a_result_stays_within_the_tokens_allowed_and_says_what_it_lacks(
    ask: Ask, tool: str, arguments: dict[str, Any], max_tokens: int
) -> None:
    reply = ask(tool, max_tokens=max_tokens, **arguments)

    assert tokens_of(reply.text) <= max_tokens
    answer = reply.answer
    assert any(answer.get(name) for name in ("text", "facts", "targets", "places", "lines", "skills"))
    assert answer["truncated"] == any("max_tokens" in note for note in answer["notes"])
    assert answer["truncated"] or not answer.get("left_out")


def test_the_large_results_above_are_large(ask: Ask) -> None:
    assert [given for given in LARGE if not ask(given[0], max_tokens=500, **given[1]).answer["truncated"]] == []


def test_the_facts_left_out_are_named_by_quantity(ask: Ask) -> None:
    facts = ask("kb_facts", target="wormhole", max_tokens=500).answer

    quantities = [fact["quantity"] for fact in facts["facts"]]
    assert {*quantities} & {*facts["left_out"]} <= {quantities[-1]}, "only the last one may be shown in part"
    assert ask("kb_facts", target="wormhole", quantity=facts["left_out"][-1]).answer["facts"]


def test_of_many_targets_those_with_documents_are_given(ask: Ask) -> None:
    targets = ask("kb_targets", everything=True, max_tokens=500).answer

    assert targets["truncated"]
    assert all(target["documents"] for target in targets["targets"][:4])
