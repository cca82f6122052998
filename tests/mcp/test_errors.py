"""An error says what is wrong and what to do next, in words that a model can act on."""

from pathlib import Path
from typing import Any

import pytest

from kb.mcp.server import Home
from kb.settings import Settings
from kb.types.base import tokens_of
from kb.usecases.knowledge_base import KnowledgeBase
from tests.mcp.conftest import ERAS, KERNEL, Ask, Reply, talk

FACT = {"quantity": "lds_size", "value": "64", "quote": "64 KB of local data share"}
MISTAKES = [
    ("kb_search", {}, "phrasings: Field required", "call it again"),
    ("kb_search", {"phrasings": []}, "phrasings: List should have at least 1 item", "call it again"),
    ("kb_search", {"phrasings": ["lds"] * 9}, "phrasings: List should have at most 8 items", "call it again"),
    ("kb_search", {"phrasings": ["lds " * 200]}, "phrasings.0: String should have at most 400", "call it again"),
    ("kb_search", {"phrasings": 7}, "phrasings: Input should be a valid list", "call it again"),
    ("kb_search", {"phrasings": ["", " ... "], "target": "mi210"}, "no word to search for", "kb_search again"),
    ("kb_search", {"phrasings": ["lds"], "page": 0}, "page: Input should be greater than or equal to 1", "again"),
    ("kb_search", {"phrasings": ["lds"], "page": 21}, "page: Input should be less than or equal to 20", "again"),
    ("kb_search", {"phrasings": ["lds"], "max_tokens": 8001}, "max_tokens: Input should be less than", "again"),
    ("kb_search", {"phrasings": ["lds"], "max_tokens": 499}, "max_tokens: Input should be greater", "again"),
    ("kb_search", {"phrasings": ["lds"], "target": "mi21O"}, "unknown target 'mi21O'", "kb_targets"),
    ("kb_search", {"phrasings": ["lds"], "target": "m" * 101}, "target: String should have at most 100", "again"),
    ("kb_search", {"phrasings": ["lds"], "seen": list(range(200))}, "seen.0: Input should be a valid string", "again"),
    ("kb_search", {"phrasings": ["lds"], "seen": ["x"] * 201}, "seen: Tuple should have at most 200", "call it again"),
    ("kb_search", {"phrasings": ["lds"]}, "which chip", "name one as `target`"),
    ("kb_search", {"phrasings": ["lds"], "target": "mi210", "within": ["no.md"]}, "no document is called", "`place`"),
    ("kb_document", {"name": "no.md"}, "no document is called 'no.md'", "`place`"),
    ("kb_document", {"name": "mi210/memory.md", "section": "Clocks"}, "has no section 'Clocks'", "headings"),
    ("kb_read", {}, "id: Field required", "call it again"),
    ("kb_read", {"id": "000000000000"}, "no passage has the id '000000000000'", "kb_search or kb_facts"),
    ("kb_read", {"id": ""}, "no passage has the id ''", "kb_search or kb_facts"),
    ("kb_read", {"id": "i" * 401}, "id: String should have at most 400", "call it again"),
    ("kb_read", {"id": "000000000000.2"}, "no passage has the id '000000000000'", "kb_search or kb_facts"),
    ("kb_read", {"id": "0", "around": 201}, "around: Input should be less than or equal to 200", "call it again"),
    ("kb_read", {"id": "0", "offset": -1}, "offset: Input should be greater than or equal to 0", "call it again"),
    ("kb_symbol", {"name": "ds_read_b12"}, "no document names ds_read_b12", "did you mean ds_read_b128"),
    ("kb_facts", {"target": "mi21O"}, "unknown target 'mi21O'", "did you mean mi210"),
    ("kb_facts", {"target": "mi210", "quantity": "lds_sice"}, "'lds_sice' of mi210", "did you mean lds_size"),
    ("kb_facts", {"target": "mi210", "quantity": "voltage"}, "'voltage'", "known: l2_size, lds_size"),
    ("kb_facts", {"target": "tpu"}, "no document states facts of google-tpu", "kb_search"),
    ("kb_worksheet", {"target": "mi210", "topic": "memry"}, "the worksheet has no topic 'memry'", "memory, registers"),
    ("kb_propose_facts", {"target": "mi210", "answers": []}, "answers: List should have at least 1 item", "again"),
    ("kb_propose_facts", {"target": "mi210", "answers": [{"value": 1}]}, "answers.0.quantity: Field required", "again"),
    ("kb_propose_facts", {"target": "mi21O", "answers": [FACT]}, "unknown target 'mi21O'", "did you mean mi210"),
    ("kb_prompt", KERNEL | {"task": "x ="}, "the argument `task` is not valid Python", "correct it"),
    ("kb_prompt", KERNEL | {"task": "x = 1"}, "does not define Model and get_inputs", "as in KernelBench"),
    ("kb_prompt", KERNEL | {"interface": {}}, "interface.inputs: Field required", "call it again"),
    ("kb_prompt", KERNEL | {"target": "trainium2"}, "kb knows no compiler for trainium2", "name the `language`"),
    ("kb_prompt", KERNEL | {"language": "cobol"}, "not written in cobol", "write "),
    ("kb_prompt", KERNEL | {"max_tokens": 500}, "task, contract and answer format need", "larger max_tokens"),
    ("kb_targets", {"max_tokens": 0}, "max_tokens: Input should be greater", "call it again"),
    ("kb_search", {"phrasings": ["lds \ud800"]}, "half of a character", "call again"),
    ("kb_propose_facts", {"target": "mi210", "answers": [FACT | {"quote": "\udcf6"}]}, "half of a character", "again"),
    ("kb_serach", {}, "Unknown tool: kb_serach", ""),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "said", "advised"), MISTAKES, ids=[f"{tool}: {said}" for tool, _, said, _ in MISTAKES]
)
def test_a_mistake_is_named_and_the_next_step_too(
    ask: Ask, tool: str, arguments: dict[str, Any], said: str, advised: str
) -> None:
    reply = ask(tool, **arguments)

    assert reply.refused
    assert said in reply.text
    assert advised in reply.text.partition(said)[2]
    assert tokens_of(reply.text) < 200


@pytest.mark.parametrize("era", ERAS)
def test_both_eras_carry_an_error_as_a_result_that_the_model_reads(ask: Ask, era: str) -> None:
    reply = ask("kb_facts", era=era, target="mi210", quantity="voltage")

    assert (reply.refused, reply.structured) == (True, None)
    assert "known: l2_size, lds_size" in reply.text


def test_a_fact_that_only_a_sibling_has_is_refused_without_its_value(ask: Ask) -> None:
    assert "96" in ask("kb_facts", target="mi250", quantity="lds_size").text
    assert "96" not in ask("kb_facts", target="mi100", quantity="lds_size").text


def test_a_home_that_cannot_be_opened_is_reported_and_tried_again_at_the_next_call(home: Path) -> None:
    home.mkdir()
    catalog = home / "catalog.sqlite"
    catalog.write_bytes(b"no database " * 1000)

    async def before_and_after(client: object) -> list[Reply]:
        before = Reply.of(await client.call_tool("kb_targets"))
        catalog.unlink()
        return [before, Reply.of(await client.call_tool("kb_targets"))]

    served = Home(lambda: KnowledgeBase(Settings.load(home)))
    before, after = talk(served, before_and_after)
    served.close()

    assert before.refused
    assert "kb doctor" in before.text
    assert after.answer["targets"]


def test_an_unexpected_error_gives_the_model_no_details(served: Home) -> None:
    def broken() -> KnowledgeBase:
        raise RuntimeError("secret")

    home = Home(broken)
    reply = Reply.of(talk(home, lambda client: client.call_tool("kb_targets")))
    home.close()

    assert (reply.refused, reply.text) == (True, "Error executing tool kb_targets")
