"""What agents may do with skills: find, read and propose."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from mcp import Client

from kb.mcp.server import Home
from kb.usecases.knowledge_base import KnowledgeBase
from tests.mcp.conftest import Ask, Reply, talk
from tests.skillbook.evidence import KERNEL
from tests.usecases.skills import accepted

DRAFT = {
    "name": "unroll-rows",
    "kind": "technique",
    "description": "Unroll the reduction of a row by 4.",
    "body": "# Unroll rows\n\nUse it where additions wait for each other.",
    "target": "mi300x",
    "preconditions": {"ops": ["softmax"]},
}


@pytest.fixture
def ask(kb: KnowledgeBase) -> Iterator[Ask]:
    """One call of a tool on a home of this test's own."""
    home = Home(lambda: KnowledgeBase(kb.settings, embedder=kb.models.embedder))
    yield lambda tool, **given: Reply.of(talk(home, partial(Client.call_tool, name=tool, arguments=given)))
    home.close()


def test_skills_are_found_best_first_with_standing(kb: KnowledgeBase, ask: Ask) -> None:
    accepted(kb, "softmax-mine")

    found = ask("kb_skills", query="softmax", target="mi300x", language="triton").answer

    first = found["skills"][0]
    assert (first["name"], first["standing"]) == ("softmax-mine", "verified")
    assert "softmax-triton" in [one["name"] for one in found["skills"]]
    assert not any(" in cpp" in one["applies"] for one in found["skills"])


def test_a_skill_is_read_whole_in_parts(ask: Ask) -> None:
    text, offset = "", 0
    while offset is not None:
        part = ask("kb_skill", name="softmax-cpp", offset=offset, max_tokens=500).answer
        text, offset = text + part["text"], part["next_offset"]

    assert text == ask("kb_skill", name="softmax-cpp", max_tokens=8000).answer["text"]
    assert "```cpp\n" in text


def test_evidence_is_shown_with_its_interval_and_trust(kb: KnowledgeBase, ask: Ask) -> None:
    accepted(kb, "softmax-mine")

    answer = ask("kb_skill", name="softmax-mine").answer

    (evidence,) = answer["evidence"]
    assert answer["gains"] == ["row-softmax for mi300x on A: 100.00 us, torch.compile 150.00 us"]
    assert evidence.startswith("passed row-softmax on mi300x, measured here, 20")
    assert evidence.endswith(": 1.50x (1.43 to 1.58)")


def test_a_proposed_skill_waits_and_the_agent_learns_what_is_doubtful(kb: KnowledgeBase, ask: Ask) -> None:
    answer = ask("kb_propose_skill", skill=DRAFT).answer

    assert "it has no evidence" in answer["doubts"]
    held = kb.skills.find(answer["name"])
    assert kb.skills.proposals() == [held]
    assert (held.language, held.candidate, held.preconditions.ops) == (None, None, ("softmax",))
    assert "unroll-rows" not in str(ask("kb_skills").answer["skills"])


def test_a_proposed_kernel_is_stored_with_its_language(kb: KnowledgeBase, ask: Ask) -> None:
    ask("kb_propose_skill", skill=DRAFT | {"kind": "kernel", "language": "triton", "code": KERNEL.source})

    [held] = kb.skills.proposals()
    assert (held.candidate, held.suffix) == (KERNEL, ".py")


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "kernel", "code": "x"}, {"kind": "kernel"}, {"name": ""}, {"name": "../"}, {"kind": "guess"},
     {"language": "C P P", "code": "x"}],
    ids=str,
)  # fmt: skip
def test_a_malformed_proposal_is_refused_with_what_to_do(kb: KnowledgeBase, ask: Ask, wrong: dict[str, Any]) -> None:
    reply = ask("kb_propose_skill", skill=DRAFT | wrong)

    assert reply.refused
    assert kb.skills.proposals() == []


def test_what_agents_propose_has_its_digest_in_its_name_and_overwrites_nothing(kb: KnowledgeBase, ask: Ask) -> None:
    held = accepted(kb, "unroll-rows")

    drafts = (DRAFT, DRAFT | {"name": "Unroll Rows!"}, DRAFT | {"body": "# Another"}, DRAFT)
    names = [ask("kb_propose_skill", skill=draft).answer["name"] for draft in drafts]

    assert kb.skills.find("unroll-rows") == held
    assert {skill.name for skill in kb.skills.proposals()} == set(names)
    assert names[0] == names[3] != names[2]
    assert all(re.fullmatch("unroll-rows-[0-9a-f]{8}", name) for name in names)


def test_an_unknown_skill_is_an_error_that_says_where_to_look(ask: Ask) -> None:
    reply = ask("kb_skill", name="softmax-cp")

    assert reply.refused
    assert "softmax-cpp" in reply.text
    assert "kb_skills lists" in reply.text
