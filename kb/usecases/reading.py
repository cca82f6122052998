"""Answers the questions of a prompt from facts, from kb's own sheets, and from the other documents of a target."""

import re
from collections.abc import Sequence, Set
from dataclasses import replace
from functools import cached_property, partial

from ingest.scan import SHEETS
from kb.facts.quantities import quantities
from kb.facts.worksheet import line_of
from kb.siblings import siblings_of
from kb.types.base import tokens_of
from kb.types.briefing import Answer, Said
from kb.types.edition import document_precedence
from kb.types.fact import Fact
from kb.types.passages import Passage
from kb.types.records import Trust
from kb.usecases.home import Home
from retrieval.answering import REFERS, answering, repeats, shortest, still_answers
from retrieval.examples import Phrasings, choose_example
from retrieval.excerpt import SENTENCE
from retrieval.precedence import is_set_aside
from retrieval.scope import Scope
from retrieval.statements import Statement, statements
from synth.briefing.fact_choice import matters, says_more
from synth.briefing.questions import Question
from synth.briefing.topics import Subject, kept_sentences, topics

FOUND = 8
"""Passages of documents in which the answer to a phrasing is sought."""
IN_A_SHEET, IN_A_DOCUMENT, WITHOUT_SHEETS = 0.55, 0.65, 0.5
"""Share of a phrasing that a statement must have to answer it. Documents say much else in the same words, which is
left out where a sheet says what matters most."""
_NAMES_CODE = re.compile(r"```|`\w|\bintrinsics?\b|\b[a-z_]\w+[._]\w+|\b[a-z]\w*\(")
"""A listing, or the name of an instruction, an intrinsic or another thing in code: `vle32.v`, `vaddq_f32(`."""
_DEFINES = re.compile(r"^\s*(?:@|def |class |func |[\w:*&<> ]+\w\([^;]*\)\s*\{)", re.MULTILINE)
"""In a listing that is more than a part of a kernel."""
_CODE, _LONG_NAME = re.compile(r"`[^`]*`"), re.compile(r"\w{4,}")
"""Code in a sentence, and the names in it that tell what it is about."""
TRIED = 8
"""At most so many statements of documents, the best ones, are tried for a phrasing."""
LEAST_WORDS = 6
"""A shorter statement of a document is a title or a caption, unless it has a listing."""
IN_LANGUAGE, IN_OPERATION, IN_ERRATA = 0.1, 0.1, 0.3
"""What it is worth that a statement names the prompt's language, names an operation of its task, or corrects others."""
MANUAL_TOKENS, MANUAL_DEPTH, TAUGHT = 3500, 3, 0.2
"""Size of the passages that teach a language, the most of them for a phrasing, and the share of it that one of their
statements must have."""
SHORT = 100
"""Statements of sheets up to this length are quoted whole, in tokens."""
LONGEST, LONGEST_EXAMPLE = 200, 900
"""Longest statement of a search, and longest example, in tokens."""


class Reader:
    """Reads for one prompt; nothing is said twice."""

    def __init__(self, home: Home, subject: Subject, facts: Sequence[Fact], rules: str = "") -> None:
        self._home, self._subject, self._facts = home, subject, facts
        self._rules = SENTENCE.findall(" ".join(rules.split()))
        self._told: set[str] = set()
        self._said: list[Statement] = []
        self.has_example = False
        chip = subject.targets[0]
        self._siblings = siblings_of(home.targets, chip, home.catalog.texts_with).named
        self._scope = Scope(chip, home.targets.scope(chip), chip=chip)

    def answer(self, question: Question) -> Answer:
        if question.code:
            return Answer(asks=question.asks, said=() if self.has_example else tuple(self._example()))
        facts = self._stated(question.quantities)
        said = self._of_sections(question) if question.sections else []
        if question.both or not (facts or said):
            said += self._searched(question)
        return Answer(asks=question.asks, facts=tuple(facts), said=tuple(said))

    def has_told(self, question: Question) -> bool:
        """Whether what answers another question answers this one too, or nobody is told that it is open."""
        known, enough = (self.sheets, IN_A_SHEET) if self.sheets else (self._said, TAUGHT)
        said = (answering(known, phrasing, enough=enough) for phrasing in question.search)
        is_known = self.sheets and question.sections and not question.search  # nothing there concerns the task
        return question.sheets or bool(is_known) or (question.code and self.has_example) or any(said)

    def manual(self, questions: Sequence[Question]) -> list[Answer]:
        """Answers by whole passages, for a language that its documents have to teach: the best of each phrasing first.

        Their statements about something else are left out, and so is what exceeds `MANUAL_TOKENS`.
        """
        self._subject = self._subject.model_copy(update={"steps": ()})  # a language is taught whole
        example = self._example()
        found = [[self._teaching(q, phrasing) for phrasing in q.search if not q.sheets] for q in questions]
        told: dict[int, list[Said]] = {place: [] for place in range(len(questions))}
        left = MANUAL_TOKENS - sum(said.tokens for said in example)
        for rank in range(MANUAL_DEPTH):
            for place, rankings in enumerate(found):
                for phrasing, passages in zip(questions[place].search, rankings, strict=False):
                    about = self._statements_about(passages[rank : rank + 1])
                    if not answering(about, phrasing, enough=TAUGHT):
                        continue
                    for statement in filter(_is_telling, self._fresh(about)):
                        if tokens_of(statement.text) <= left:
                            left -= tokens_of(statement.text)
                            told[place].append(self._say(statement))
        return [
            Answer(
                asks=question.asks,
                facts=tuple(self._stated(question.quantities)),
                said=tuple(example if question.code else told[place]),
            )
            for place, question in enumerate(questions)
        ]

    def _teaching(self, question: Question, phrasing: str) -> list[Passage]:
        """The passages that a search finds in no file and below no heading about another operation or language."""
        elsewhere = partial(topics().is_elsewhere, subject=self._subject, teaches=question.taught)
        return [p for p in self._passages((phrasing,)) if not elsewhere(f"{p.citation.path} {p.trail}")]

    def _statements_about(self, passages: Sequence[Passage]) -> list[Statement]:
        return [about for one in statements(passages) if (about := self._about_subject(one))]

    def _stated(self, wanted: Sequence[str]) -> list[Fact]:
        """The facts of these quantities, those of one quantity together; of `a | b` those of b only if a has none.

        A quantity that a reader named in the vendor's words answers where its line of the worksheet is asked about.
        """
        fitting = [fact for fact in self._facts if matters(fact, self._subject)]
        stated = {fact.quantity for fact in fitting}
        either = [entry.split(" | ") for entry in wanted]
        lines = {line_of(name) for names in either for name in names}
        asked = [next((name for name in names if name in stated), names[0]) for names in either]
        named = (f for f in fitting if not (f.quantity in quantities().by_name or _is_of_a_sheet(f)))  # by a reader
        asked += [fact.quantity for fact in named if line_of(fact.quantity) in lines]
        of_sheets = {fact.quantity for fact in fitting if _is_of_a_sheet(fact)}
        own = [f for f in fitting if f.quantity in asked and (_is_of_a_sheet(f) or f.quantity not in of_sheets)]
        fresh = [f for f in own if f.citation.id not in self._told and not any(says_more(o, f) for o in own)]
        self._told.update(fact.citation.id for fact in fresh)
        return sorted(fresh, key=lambda fact: asked.index(fact.quantity))

    def _of_sections(self, question: Question) -> list[Said]:
        """What the sheets say about the subject below these headings."""
        own = [s for s in self.sheets if not set(s.passage.citation.section[-1:]).isdisjoint(question.sections)]
        shows = [s for s in own if s.code and topics().names(s.code, self._subject) & {"operation"}]
        own = [s for s in own if not s.code or s in shows or not shows]
        return [self._say(s) for s in self._fresh(own)]

    def _searched(self, question: Question) -> list[Said]:
        said: list[Said] = []
        told_below = [s for s in self.sheets if len(s.passage.citation.section) > 1]  # above it sums up the sections
        pool = self.sheets if question.sheets else told_below
        for phrasing in question.search:
            if len(said) == question.most:
                break
            found = answering(self._fresh(pool), phrasing, enough=IN_A_SHEET, bonus=self._bonus)
            found = [s if tokens_of(s.text) <= SHORT else shortest(s, phrasing) for s in found]
            found = found or ([] if question.sheets else self._in_documents(phrasing, names=question.names))
            said += [self._say(s) for s in [s for s in found if tokens_of(s.text) <= LONGEST][:1]]
        return said

    def _example(self) -> list[Said]:
        """A whole example of the nearest kind, as its document shows it."""
        subject = self._subject
        kinds = subject.operations or ("",)
        asked: list[Phrasings] = [
            *((f"{subject.language} {kind} kernel example", f"{kind} in {subject.language}") for kind in kinds),
            (f"{subject.language} kernel example",),
        ]
        found = {phrasings: self._passages(phrasings) for phrasings in asked}
        told: list[Statement] = []
        for statement in statements(choose_example(self._home.catalog, asked, found)):
            about = self._about_subject(statement) if statement.code else None
            if not (about and about.code) or (self.sheets and not _DEFINES.search(about.code)):
                continue
            if tokens_of("".join(s.text for s in (*told, about))) <= LONGEST_EXAMPLE:
                told.append(about)
        return [self._say(statement) for statement in told]

    def _passages(self, phrasings: Phrasings) -> list[Passage]:
        """What a search finds, without passages that nobody vouches for or that are about something else."""

        def find() -> list[Passage]:
            hits = self._home.search_engine.rank(phrasings, self._scope, limit=FOUND).hits
            return [hit.passage for hit in hits if _is_usable(hit.passage)]

        found = self._home.found((phrasings, self._scope), find)
        return [p for p in found if not is_set_aside(p)] or found

    def _in_documents(self, phrasing: str, *, names: bool) -> list[Statement]:
        """The shortest answers in the documents that a search finds; with `names` only those that name code."""
        found = [statement for passage in self._passages((phrasing,)) for statement in statements([passage])]
        enough = IN_A_DOCUMENT if self.sheets else WITHOUT_SHEETS
        pool = self._fresh([one for one in found if _is_claim(one)])
        ranked = answering(pool, phrasing, enough=enough, bonus=self._bonus)
        ranked = [s for s in ranked if not self.sheets or self._is_about_task(s)][:TRIED]
        about = ((whole, self._about_subject(whole)) for whole in ranked)
        said = [shortest(part, phrasing) for whole, part in about if part and still_answers(part, whole, phrasing)]
        return [one for one in said if not names or _NAMES_CODE.search(one.text)]

    def _is_about_task(self, statement: Statement) -> bool:
        """Whether a statement names the language, or it or a heading above it an operation of the task."""
        above = topics().names(statement.passage.trail, self._subject) & {"operation"}
        return bool((above | topics().names(statement.text, self._subject)) & {"operation", "language"})

    @cached_property
    def sheets(self) -> list[Statement]:
        """What kb's own sheets for the target and its ancestors say about the subject, the nearest first."""
        targets, catalog = self._subject.targets, self._home.catalog
        own = [d for d in self._home.documents.stored(targets[0]) if d.ships_with_kb and d.target in targets]
        own.sort(key=lambda document: targets.index(document.target))
        found = (catalog.passages(catalog.chunk_ids(document.source)) for document in own)
        return [statement for passages in found for statement in self._statements_about(passages)]

    def _about_subject(self, statement: Statement) -> Statement | None:
        """The statement without what is about something else; None if nothing is left."""
        subject = self._subject
        of_sheet = statement.passage.citation.path.startswith(f"{SHEETS.name}/")
        named = statement.sentences if of_sheet else [s for s in statement.sentences if not self._siblings(s)]
        kept = kept_sentences(named, subject)
        if statement.sentences and (not kept or any(repeats(kept[0], rule) for rule in self._rules)):
            return None
        code = statement.code if statement.code and topics().is_code_for(statement.code, statement.tag, subject) else ""
        if not code and (not kept or kept[-1].endswith(":")):
            return None  # what it announced is gone
        return replace(statement, sentences=tuple(kept), code=code)

    def _bonus(self, statement: Statement) -> float:
        named = topics().names(statement.text, self._subject)
        passage = statement.passage
        corrects = document_precedence(passage.citation.path, passage.title, passage.trust) > 0
        return IN_LANGUAGE * ("language" in named) + IN_OPERATION * ("operation" in named) + IN_ERRATA * corrects

    def _fresh(self, pool: Sequence[Statement]) -> list[Statement]:
        """The statements without what is told already."""
        left = [
            replace(s, sentences=tuple(dict.fromkeys(one for one in s.sentences if one not in self._told)))
            for s in pool
            if s.code not in self._told
        ]
        return [s for s in left if s.code or (s.sentences and not _only_names(s.prose, self._told))]

    def _say(self, statement: Statement) -> Said:
        self._told.update((*statement.sentences, *([statement.code] if statement.code else [])))
        self._said.append(statement)
        self.has_example = self.has_example or bool(statement.code)
        return Said(text=statement.text, citation=statement.passage.citation, mark=" ".join(statement.passage.marks))


def _only_names(prose: str, told: Set[str]) -> bool:
    """Whether it is a list of names in code, all of which are told."""
    if not prose.startswith("`") or _CODE.sub("", prose).strip(" .,;"):
        return False
    return all(any(name in one for one in told) for name in _LONG_NAME.findall(prose))


def _is_of_a_sheet(fact: Fact) -> bool:
    return fact.citation.path.startswith(f"{SHEETS.name}/")


def _is_telling(statement: Statement) -> bool:
    """Whether a statement of a passage that teaches is more than a title or a caption."""
    return bool(statement.code or _NAMES_CODE.search(statement.text)) or len(statement.prose.split()) >= LEAST_WORDS


def _is_claim(statement: Statement) -> bool:
    """Whether a statement of a document says something by itself, other than a title, a caption, a bare name or a row
    whose columns nothing names."""
    prose = statement.prose
    is_whole = not (REFERS.match(prose) or prose.startswith("|"))
    return is_whole and (bool(statement.code) or len(prose.split()) >= LEAST_WORDS)


def _is_usable(passage: Passage) -> bool:
    """Whether its words may be quoted: nobody doubts them, and neither file nor heading is about something else."""
    where = passage.citation
    if passage.trust is Trust.UNTRUSTED or passage.about:
        return False
    return not (topics().paths.search(where.path) or topics().never.search(" ".join(where.section[-1:])))
