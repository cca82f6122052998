"""What a person decides on the page. Each function gets the fields of a form, and returns the address that follows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from kb.errors import FactError, SkillError
from kb.web.pages import url

if TYPE_CHECKING:  # the first question opens it; loading it here would delay the start
    from kb.usecases.knowledge_base import KnowledgeBase


def fact(kb: "KnowledgeBase", form: Mapping[str, str]) -> str:
    """Accept or reject a fact, or withdraw that."""
    from kb.facts.resolution import FactDecision

    decisions = {"accept": FactDecision.ACCEPTED, "reject": FactDecision.REJECTED, "reopen": None}
    if (verb := form.get("verb", "")) not in decisions:
        raise FactError(f"nobody can {verb!r} a fact", hint=f"known: {', '.join(decisions)}")
    key = form.get("id", "")
    standing = kb.factbook.decide(key, decisions[verb], reason=form.get("reason", ""))
    target = form.get("target") or standing.fact.target
    return url("/facts", {"target": target, "done": key}, f"fact-{key}")


def skill(kb: "KnowledgeBase", form: Mapping[str, str]) -> str:
    """Accept or reject a proposal, or retire a skill."""
    from kb.usecases.curating import Decided, decide

    verbs: dict[str, Decided] = {verb: verb for verb in get_args(Decided)}
    if (verb := form.get("verb", "")) not in verbs:
        raise SkillError(f"nobody can {verb!r} a skill", hint=f"known: {', '.join(verbs)}")
    name = form.get("name", "")
    decide(kb, verbs[verb], name, by=form.get("by", ""), reason=form.get("reason", ""), anyway=bool(form.get("anyway")))
    return url("/skill", {"name": name})


DECISIONS = {"/facts": fact, "/skill": skill}
