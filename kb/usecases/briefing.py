"""Decides what a prompt says of the hardware: its questions, which `Reader` answers, techniques and structures."""

import re
from collections.abc import Sequence

from eval.roofline import limit_of
from kb.types.briefing import Briefing, Said
from kb.types.evidence import Evidence
from kb.types.fact import Fact
from kb.types.kernels import Interface, Language, Task
from kb.types.protocols import Attempt, Stage
from kb.types.terms import Terms
from kb.usecases.fact_lookup import unconfirmed
from kb.usecases.home import Home
from kb.usecases.reading import Reader
from synth.briefing.fact_choice import without_repeats
from synth.briefing.follow_up import refused_names
from synth.briefing.questions import Question, questions_for, techniques_for
from synth.briefing.shapes import shapes_of
from synth.briefing.topics import Subject, code_of, dtypes_of, family_of, has_products, operations_in, steps_in, topics
from synth.prompts.diagnosis import diagnosis_of

NOWHERE = Terms()
_OF_GPUS = re.compile(r"\b(?:programs?|grid|warps?|asynchronous)\b")
"""In a structure of kernels for GPUs alone."""
TECHNIQUES = 2
"""Most answers in a prompt to improve a kernel."""
GUIDANCE = "Tuning guidance"
"""Heading of a sheet below which it says how kernels are organised."""


def brief(
    home: Home,
    task: Task,
    interface: Interface,
    language: Language,
    target: str,
    facts: Sequence[Fact],
    attempts: Sequence[Attempt],
    stage: Stage,
    terms: Terms = NOWHERE,
    *,
    is_diagnosed: bool = True,
) -> Briefing:
    """What a prompt says of the hardware: all that a first kernel needs, or what the last attempt lacked.

    Args:
        facts: Those that hold for the target.
        terms: What the prompt says of the judge; its numbers are not said again.
        is_diagnosed: Whether what limits the last attempt chooses what is said.

    Raises:
        SettingsError: the user's file of questions is not right.
    """
    subject = subject_of(home, task, interface, target, language.name, facts, terms)
    reader = Reader(home, subject, facts, language.rules)
    is_new = language.name not in topics().known or subject.family == "npu"  # there a known language is used otherwise
    taught = stage is Stage.DRAFT and not reader.sheets and is_new
    if stage is Stage.DRAFT or not attempts:
        written = Question(asks=f"How is a kernel written in {language.name}?", search=language.searched, taught=True)
        is_told = language.searched and (language.judged or language.name not in topics().known)
        first = [written] if is_told and not reader.sheets else []
        questions = questions_for(subject, home.settings.home, first=first, taught=taught)
        questions = [question for question in questions if not (question.code and "```" in language.rules)]
    else:
        questions = _questions_after(attempts[-1], stage, subject, home, is_diagnosed=is_diagnosed)
    answers = reader.manual(questions) if taught else [reader.answer(question) for question in questions]
    stated = {fact.quantity for fact in facts}
    new = not attempts or stage in (Stage.DRAFT, Stage.RETHINK)
    techniques = techniques_for(subject, code_of(task), home.settings.home, stated) if new else []
    sizes = tuple(name for technique in techniques for name in technique.quantities)
    answers.append(reader.answer(Question(asks="Which sizes do these ideas depend on?", quantities=sizes)))
    if stage is Stage.IMPROVE:
        answers = [answer for answer in answers if answer.said][:TECHNIQUES]
    answers = [answer for answer in answers if answer.facts or answer.said]
    answered = {answer.asks for answer in answers}
    left = [question for question in questions if question.asks not in answered and not reader.has_told(question)]
    asked = {name for question in questions for entry in question.quantities for name in entry.split(" | ")}
    return Briefing(
        answers=tuple(without_repeats(answers, "\n".join((language.rules, *terms.roof)))),
        open=tuple(question.asks for question in left) if stage is Stage.DRAFT else (),
        unconfirmed=tuple(unconfirmed(home, target, asked - stated)) if stage is Stage.DRAFT else (),
        techniques=tuple(map(str, techniques)),
        structures=tuple(_structures(home, target, subject)),
    )


def _structures(home: Home, target: str, subject: Subject) -> list[str]:
    """Forms that kernels for the task's operations have on a chip of this kind."""
    isa = home.targets.isa(target)
    known = [form for name in subject.operations for form in topics().structures[name]]
    return [form for form in known if not (isa and isa.is_cpu and _OF_GPUS.search(form))]


def _questions_after(
    last: Attempt, stage: Stage, subject: Subject, home: Home, *, is_diagnosed: bool
) -> list[Question]:
    """What the last attempt leaves to ask; how kernels are organised also if nothing fits what limits it."""
    if stage is Stage.FIX:
        return _about_names(last.evidence, last.candidate.source)
    guidance = [question for question in questions_for(subject, home.settings.home) if GUIDANCE in question.sections]
    rules = diagnosis_of(last.evidence).rules if stage is Stage.IMPROVE and is_diagnosed else ()
    helps = [(f"What helps against: {rule.name}?" if rule.says else "What helps in general?", rule) for rule in rules]
    return [*(Question(asks=asks, search=rule.search) for asks, rule in helps), *guidance]


def _about_names(evidence: Evidence, source: str) -> list[Question]:
    return [
        Question(asks=f"What do the documents say of `{name}`?", search=(name,))
        for name in refused_names(evidence, source)
    ]


def defined(home: Home, evidence: Evidence, source: str) -> list[Said]:
    """What the target's documents state of the names with which a tool refused a candidate."""
    subject = Subject(targets=home.targets.lineage(evidence.target), language=evidence.language)
    reader = Reader(home, subject, ())
    return [said for question in _about_names(evidence, source) for said in reader.answer(question).said]


def subject_of(
    home: Home,
    task: Task,
    interface: Interface,
    target: str,
    language: str,
    facts: Sequence[Fact],
    terms: Terms = NOWHERE,
) -> Subject:
    """What a prompt is about."""
    isa = home.targets.isa(target)
    titles = " ".join(found.title for name in home.targets.lineage(target) if (found := home.targets.find(name)))
    family = family_of(titles, isa.backend if isa else "", language)
    operations, limit = operations_in(task), limit_of(interface, facts, launched=family == "gpu")
    if has_products(operations) and limit != "compute":
        operations = tuple(dict.fromkeys((*operations, "reduction")))  # of rows that are read once
    return Subject(
        targets=tuple(home.targets.lineage(target)),
        family=family,
        language=language,
        operations=operations,
        multiplies=interface.matrix_operations > 0,
        dtypes=dtypes_of(interface),
        steps=steps_in(task),
        shapes=shapes_of(code_of(task), interface),
        limit=limit,
        judged=terms.judged,
        lacks=topics().missing_in(terms.device) if terms.judged == "cpu" and terms.device else (),
    )
