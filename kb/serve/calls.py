"""The calls of the JSON API: the tools of MCP, and what people alone may do."""

from collections.abc import Callable
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, create_model

from kb.mcp import runs, skills, tools
from kb.mcp.advice import target_meant
from kb.mcp.tool import TargetName
from kb.mcp.tools import Phrasings
from kb.serve.lanes import Lane
from kb.serve.people import Role
from kb.types.documents import Document
from kb.views import hits
from kb.views.response import Response

if TYPE_CHECKING:
    from kb.usecases.curating import Decision
    from kb.usecases.knowledge_base import KnowledgeBase
    from kb.views.runs import RunView

Reason = Annotated[str, Field(max_length=2000, description="Kept with the decision.")]
Name = Annotated[str, Field(max_length=400)]
BY = "by"
"""The argument that is the name of the person who calls, not one that he sends."""


class Documents(Response):
    documents: tuple[Document, ...]


class Runs(Response):
    runs: tuple[str, ...]
    """Ids, the oldest first."""


class Done(Response):
    done: str


def context(
    kb: "KnowledgeBase",
    phrasings: Phrasings,
    target: TargetName | None = None,
    budget_tokens: Annotated[int, Field(ge=100, le=100_000, description="Most tokens of the passages.")] = 4000,
) -> hits.PackedContext:
    """The passages for a question, whole, packed into a number of tokens, for a prompt."""
    packed = kb.context(phrasings, target=target_meant(kb, target), budget_tokens=budget_tokens)
    return hits.packed_context(packed)


def documents(kb: "KnowledgeBase", target: TargetName | None = None) -> Documents:
    """The documents, by target and path."""
    return Documents(documents=tuple(kb.documents.stored(target)))


def list_runs(kb: "KnowledgeBase") -> Runs:
    """The runs of the home."""
    return Runs(runs=tuple(run.id for run in kb.runs))


def report(kb: "KnowledgeBase", run: runs.RunId) -> "RunView":
    """A run with its plan, its costs, and each candidate with its verdict."""
    from kb.views.runs import run_view

    return run_view(kb.runs.get(run))


def decide_fact(
    kb: "KnowledgeBase",
    id: Name,  # noqa: A002 - what every result calls it
    verb: Literal["accept", "reject", "reopen"],
    reason: Reason = "",
) -> Done:
    """Let a fact hold, or not; `reopen` takes that back."""
    from kb.web.deciding import fact

    fact(kb, {"id": id, "verb": verb, "reason": reason})
    return Done(done=id)


def decide_skill(
    kb: "KnowledgeBase", name: Name, verb: Literal["accept", "reject", "retire"], by: str, reason: Reason = ""
) -> "Decision":
    """Accept or reject a proposed skill, or retire one. All but `accept` need a reason."""
    from kb.usecases.curating import decide

    return decide(kb, verb, name, by=by, reason=reason)


def remove_document(kb: "KnowledgeBase", path: Name) -> Documents:
    """Remove a document with its passages and facts. An uploaded file is deleted, too."""
    from kb.serve.uploads import remove

    return Documents(documents=tuple(remove(kb, path)))


class Access(NamedTuple):
    least: Role
    lane: Lane


class Call(NamedTuple):
    function: Callable[..., Any]
    """Takes the knowledge base and the arguments."""
    least: Role
    lane: Lane


READS, WRITES = Access(Role.READER, Lane.READ), Access(Role.AUTHOR, Lane.WRITE)
JUDGES, CURATES = Access(Role.AUTHOR, Lane.JUDGE), Access(Role.CURATOR, Lane.CURATE)

TOOLS = {
    tools.kb_search: READS,
    tools.kb_symbol: READS,
    tools.kb_read: READS,
    tools.kb_document: READS,
    tools.kb_facts: READS,
    tools.kb_worksheet: READS,
    tools.kb_propose_facts: WRITES,
    tools.kb_prompt: READS,
    tools.kb_targets: READS,
    skills.kb_skills: READS,
    skills.kb_skill: READS,
    skills.kb_propose_skill: WRITES,
    runs.kb_start_run: JUDGES,
    runs.kb_submit: JUDGES,
    runs.kb_verify: JUDGES,
    runs.kb_roofline: JUDGES,
    runs.kb_run: READS,
}
"""Who may use the tools of MCP. A tool that is not here is not served."""

CALLS = {
    **{tool.__name__.removeprefix("kb_"): Call(tool, *access) for tool, access in TOOLS.items()},
    "context": Call(context, *READS),
    "documents": Call(documents, *READS),
    "runs": Call(list_runs, *READS),
    "report": Call(report, *READS),
    "decide_fact": Call(decide_fact, *CURATES),
    "decide_skill": Call(decide_skill, *CURATES),
    "remove_document": Call(remove_document, *CURATES),
}
"""Each is `POST /api/NAME` with a JSON object of its arguments."""


def arguments_of(function: Callable[..., Any]) -> type[BaseModel]:
    """What a call takes, without the knowledge base and `BY`."""
    _, *parameters = signature(function).parameters.values()
    fields: dict[str, Any] = {
        one.name: (one.annotation, ... if one.default is one.empty else one.default)
        for one in parameters
        if one.name != BY
    }
    return create_model(function.__name__, __config__={"extra": "forbid"}, **fields)


def description_of(name: str, call: Call) -> dict[str, Any]:
    return {
        "call": name,
        "least_role": call.least,
        "description": cleandoc(call.function.__doc__ or ""),
        "arguments": arguments_of(call.function).model_json_schema(),
    }
