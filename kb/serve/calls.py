"""The calls of the JSON API: the tools of MCP, and what people alone may do. Each takes an open home and arguments."""

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, create_model

from kb.mcp import runs, skills, tools
from kb.mcp.advice import target_meant
from kb.mcp.tool import TargetName
from kb.mcp.tools import Phrasings
from kb.serve import uploads
from kb.serve.lanes import Lane
from kb.serve.people import Role
from kb.types.documents import Document
from kb.views import hits
from kb.web import deciding

if TYPE_CHECKING:
    from kb.usecases.curating import Decision
    from kb.usecases.knowledge_base import KnowledgeBase
    from kb.views.runs import RunView

Reason = Annotated[str, Field(max_length=2000, description="Kept with the decision.")]
Name = Annotated[str, Field(max_length=400)]
BY = "by"
"""An argument that nobody sends: the name of the person who calls."""


def context(
    kb: "KnowledgeBase",
    phrasings: Phrasings,
    target: TargetName | None = None,
    budget_tokens: Annotated[int, Field(ge=100, le=100_000)] = 4000,
) -> hits.PackedContext:
    """The passages for a question, whole, as many as fit into a number of tokens, for a prompt."""
    packed = kb.context(phrasings, target=target_meant(kb, target), budget_tokens=budget_tokens)
    return hits.packed_context(packed)


def documents(kb: "KnowledgeBase", target: TargetName | None = None) -> list[Document]:
    """The documents, by target and path."""
    return kb.documents.stored(target)


def list_runs(kb: "KnowledgeBase") -> list[str]:
    """The ids of the runs, the oldest first."""
    return [run.id for run in kb.runs]


def report(kb: "KnowledgeBase", run: runs.RunId) -> "RunView":
    """A run with its plan, its costs, and each candidate with its verdict."""
    from kb.views.candidates import opened
    from kb.views.runs import run_view

    found = kb.runs.get(run)
    return opened(kb, found, run_view(found))


def decide_fact(
    kb: "KnowledgeBase", fact: Name, verb: Literal["accept", "reject", "reopen"], reason: Reason = ""
) -> None:
    """Let a fact hold, or not; `reopen` takes that back."""
    deciding.fact(kb, {"id": fact, "verb": verb, "reason": reason})


def decide_skill(
    kb: "KnowledgeBase", skill: Name, verb: Literal["accept", "reject", "retire"], by: str, reason: Reason = ""
) -> "Decision":
    """Accept or reject a proposed skill, or retire one. All but `accept` need a reason."""
    from kb.usecases.curating import decide

    return decide(kb, verb, skill, by=by, reason=reason)


def remove_document(kb: "KnowledgeBase", path: Name) -> list[Document]:
    """Remove a document with its passages and facts. A file that was sent is deleted, too."""
    return uploads.remove(kb, path)


class Access(NamedTuple):
    least: Role
    lane: Lane


_ACCESS: dict[Access, tuple[Callable[..., Any], ...]] = {
    Access(Role.READER, Lane.READ): (
        *(tools.kb_search, tools.kb_symbol, tools.kb_read, tools.kb_document, tools.kb_facts, tools.kb_worksheet),
        *(tools.kb_prompt, tools.kb_targets, skills.kb_skills, skills.kb_skill, runs.kb_run, runs.kb_tasks),
        *(context, documents, list_runs, report),
    ),
    Access(Role.AUTHOR, Lane.WRITE): (tools.kb_propose_facts, skills.kb_propose_skill),
    Access(Role.AUTHOR, Lane.JUDGE): (runs.kb_start_run, runs.kb_submit, runs.kb_verify, runs.kb_roofline),
    Access(Role.CURATOR, Lane.CURATE): (decide_fact, decide_skill, remove_document),
}
CALLS = {call: access for access, calls in _ACCESS.items() for call in calls}
"""Who may call what, over MCP and over HTTP; what is not here is not served."""


def name_of(call: Callable[..., Any]) -> str:
    """The last part of its address."""
    return call.__name__.removeprefix("kb_")


@cache
def arguments_of(call: Callable[..., Any]) -> type[BaseModel]:
    """The model of a call's arguments, which forbids others."""
    _, *taken = signature(call).parameters.values()
    fields: Any = {
        one.name: (one.annotation, ... if one.default is one.empty else one.default) for one in taken if one.name != BY
    }
    made: type[BaseModel] = create_model(name_of(call), __config__={"extra": "forbid"}, **fields)
    return made
