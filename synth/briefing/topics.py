"""Tells what a task is about, and which statements are about something else; topics.toml holds the words."""

import ast
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

from kb.types.base import Frozen
from kb.types.kernels import Interface, Task

PRINTED = ("bash", "sh", "shell", "console", "text", "yaml", "json", "toml", "ini", "cmake", "makefile", "diff")
"""Tags of listings that are no programs for a chip."""
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_GOES_ON = re.compile(r"(?:It|Its|This|These|They|Those)\b")
"""How a sentence begins that says more of what the one before it names."""
PRODUCTS = {"matrix multiplication", "attention", "convolution"}
_MARKS = "`*_ "
_WITHOUT = re.compile(r"\bwithout (?:the )?\S+", re.IGNORECASE)
_COMMENT = re.compile(r"(?://|#(?!include)).*")
_COMPUTES_FLOATS = re.compile(r"\bfloat\b|\bfloat32\b|_p[sd]\(|f32")
OPENING = 30
"""Characters in which a sentence about a part of an operation names it."""
LONGEST_HEAD = 60
"""Characters in which a colon ends what says what a sentence is about."""
Limit = Literal["memory", "compute", "latency", "launch"]
"""What limits the fastest kernel for a task."""


class Subject(Frozen):
    """What a prompt is about."""

    targets: tuple[str, ...]
    """The target and its ancestors, nearest first."""
    language: str
    family: str = ""
    """`gpu`, `cpu` or `npu`."""
    operations: tuple[str, ...] = ()
    """The classes of topics.toml that the task's source names; none: only products are another operation, if any is."""
    multiplies: bool = True
    """Whether matrix products may be in it, although its source names none."""
    dtypes: tuple[str, ...] = ()
    """Of all tensors, as in torch; none: likewise."""
    steps: tuple[str, ...] = ()
    """Those of topics.toml that the task has; none: any."""
    shapes: tuple[str, ...] = ()
    """Those of the rows that the task reduces, in the words of techniques.toml; none: unknown."""
    limit: Limit | None = None
    judged: str = ""
    lacks: tuple[str, ...] = ()
    """The units of topics.toml that the judge's processor lacks, as far as it is known."""

    @property
    def has_products(self) -> bool:
        return has_products(self.operations)

    @property
    def has_floats(self) -> bool:
        return not self.dtypes or any("float" in dtype for dtype in self.dtypes)

    @property
    def products_in(self) -> tuple[str, ...]:
        """Other types than the task's own in which matrix units may take its operands."""
        wider = {"float32": "tf32", "int8": "int16", "uint8": "int16"}
        return tuple(dict.fromkeys(wider[dtype] for dtype in self.dtypes if dtype in wider))


@dataclass(frozen=True, slots=True)
class Topics:
    """The content of topics.toml, compiled."""

    code: Mapping[str, re.Pattern[str]]
    """How the source of a task names an operation."""
    steps: Mapping[str, re.Pattern[str]]
    """How the source of a task shows a step."""
    words: Mapping[str, Mapping[str, re.Pattern[str]]]
    """How documents name operations, steps, data types, languages and limits, by kind."""
    common: frozenset[str]
    """Data types that are never foreign."""
    tags: Mapping[str, Sequence[str]]
    """How fences name a language, where its code may have no word that tells it."""
    families: tuple[Mapping[str, object], ...]
    known: frozenset[str]
    """Languages that models know."""
    aliases: Mapping[str, str]
    apart: frozenset[str]
    """Operations that make a statement foreign to every task without them."""
    only: frozenset[str]
    """Classes of tasks that have no other class than these and exponential functions."""
    structures: Mapping[str, tuple[str, ...]]
    """Forms that kernels for an operation have."""
    parts: Mapping[str, re.Pattern[str]]
    """How documents name kernels for a part of an operation, by operation."""
    units: Mapping[str, re.Pattern[str]]
    judged: Mapping[str, re.Pattern[str]]
    hidden: Mapping[str, re.Pattern[str]]
    """What a language does by itself, by language."""
    never: re.Pattern[str]
    paths: re.Pattern[str]

    def foreign(self, text: str, subject: Subject) -> bool:
        """Whether a sentence is about something else than the subject, or about nothing that a kernel's author needs.

        A sentence that names several operations or languages is foreign only if the subject's are not among them. What
        stands before a colon near its beginning says what it is about, so does a data type with which it begins; what
        stands in parentheses does not.
        """
        plain = _IN_PARENTHESES.sub("", text)
        absent = self.judged.get(subject.judged)
        if self.never.search(text) or self.hides(plain, subject) or (absent and absent.search(text)):
            return True
        if any(self.words["operation"][name].search(plain) for name in self.apart - {*subject.operations}):
            return True
        is_of_part = self.is_of_part(plain[:OPENING], subject) and not self.names_whole(plain, subject)
        if is_of_part or self.is_of_missing(text, subject.lacks):
            return True
        first = {name for name, words in self.words["dtype"].items() if words.match(plain.lstrip(_MARKS))}
        head, colon, _ = plain[:LONGEST_HEAD].partition(":")
        parts = [(text, plain), *([(text[: text.find(":")], head)] if colon else [])]
        for whole, outside in parts:
            named, told = _named(whole), _named(outside)
            for kind in told:
                own = _own(kind, subject)
                begins = first - self.common or ("float16" in first and not subject.has_products)
                if kind == "dtype" and own and own.isdisjoint(first) and begins:
                    return True
                if own and own.isdisjoint(named[kind]) and told[kind] - (self.common if subject.has_floats else set()):
                    return True
        return False

    def is_of_part(self, text: str, subject: Subject) -> bool:
        """Whether a text is about kernels for a part of the task's operation, and does not name the operation."""
        return not self.names_whole(text, subject) and any(
            part.search(text) for name, part in self.parts.items() if name in subject.operations
        )

    def names_whole(self, text: str, subject: Subject) -> bool:
        """Whether a text names an operation of the task that has parts which documents speak of alone."""
        whole = [name for name in self.parts if name in subject.operations]
        return any(self.words["operation"][name].search(text) for name in whole)

    def is_of_missing(self, text: str, lacks: Collection[str]) -> bool:
        """Whether a text names units of a processor, all of which are lacking, and does not say what holds without."""
        named = {name for name, words in self.units.items() if words.search(_WITHOUT.sub("", text))}
        return bool(named) and named <= {*lacks}

    def missing_in(self, processor: str) -> tuple[str, ...]:
        """The units that a processor lacks whose name has its vector extensions behind it."""
        return tuple(name for name in self.units if name not in processor)

    def hides(self, text: str, subject: Subject) -> bool:
        """Whether a text is about what the subject's language does by itself, and does not name the language."""
        hidden = self.hidden.get(subject.language)
        return bool(hidden and hidden.search(text)) and not self.words["language"][subject.language].search(text)

    def names(self, text: str, subject: Subject) -> set[str]:
        """The kinds of topics of which the text names the subject's own, not only in parentheses."""
        named = _named(_IN_PARENTHESES.sub("", text))
        return {kind for kind, own in named.items() if not own.isdisjoint(_own(kind, subject))}

    def is_elsewhere(self, place: str, subject: Subject, *, teaches: bool) -> bool:
        """Whether a path or headings name operations, or languages if it `teaches` one, and not the subject's."""
        named = _named(re.sub(r"[-_./]", " ", place))
        kinds = ("operation", "language") if teaches else ("operation",)
        return any(named[kind].isdisjoint(_own(kind, subject)) for kind in kinds if kind in named)

    def is_code_for(self, code: str, tag: str, subject: Subject) -> bool:
        """Whether a listing is a program in the subject's language, of its operations if it names any, and of integers
        if it computes integers alone."""
        if tag.lower() in PRINTED or (_COMPUTES_FLOATS.search(code) and not subject.has_floats):
            return False
        plain = _COMMENT.sub("", code)
        plain += plain.replace("_", " ")  # the words in names
        if self.is_of_part(plain, subject):
            return False
        named = _named(plain)
        dtypes = named.get("dtype", frozenset()) - self.common
        if dtypes and dtypes.isdisjoint(_own("dtype", subject)) and subject.dtypes:
            return False
        tells = subject.language in self.words["language"]
        own = tag.lower() in self.tags.get(subject.language, ()) or (
            subject.language in named.get("language", ()) if tells else "language" not in named
        )
        return own and not named.get("operation", {*subject.operations}).isdisjoint(subject.operations)

    def operations_of(self, text: str) -> set[str]:
        """The classes of operations that a text names, as documents or as code."""
        return {*_named(text).get("operation", ()), *(n for n, code in self.code.items() if code.search(text))}


@lru_cache(maxsize=8192)  # all prompts ask what the same sentences of sheets and hits name
def _named(text: str) -> Mapping[str, frozenset[str]]:
    """Find the topics that a text names, by kind. A kind of which it names none is left out."""
    words = topics().words.items()
    found = {kind: frozenset(name for name, word in own.items() if word.search(text)) for kind, own in words}
    return {kind: named for kind, named in found.items() if named}


def kept_sentences(sentences: Sequence[str], subject: Subject) -> list[str]:
    """The sentences that are not foreign, without those that go on from one that is.

    If the first, which says what the others are about, is foreign, only those that name the task's operation.
    """
    kept: list[str] = []
    drops = False
    for sentence in sentences:
        drops = topics().foreign(sentence, subject) or (drops and bool(_GOES_ON.match(sentence)))
        if not drops:
            kept.append(sentence)
        elif not kept:
            named = [one for one in sentences if topics().names_whole(one, subject)]
            return [one for one in named if not topics().foreign(one, subject)]
    return kept


def code_of(task: Task) -> str:
    """A task's source down to its inputs, without comments and docstrings."""
    tree = ast.parse(task.source.partition("def get_inputs")[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


def operations_in(task: Task) -> tuple[str, ...]:
    """The classes of the operations in a task's code."""
    source = code_of(task)
    found = [name for name, code in topics().code.items() if code.search(source)]
    is_more = {*found} - topics().only - {"exponential functions"}
    return tuple(name for name in found if not (is_more and name in topics().only))


def steps_in(task: Task) -> tuple[str, ...]:
    """The steps that a task's source shows."""
    source = code_of(task)
    return tuple(name for name, code in topics().steps.items() if code.search(source))


def has_products(operations: Iterable[str]) -> bool:
    """Whether matrix products are among these classes; then they take most of a task's time."""
    return not PRODUCTS.isdisjoint(operations)


def helps(operations: Sequence[str], task: Task) -> bool:
    """Whether a kernel for these operations, in a skill's words, is for the part of a task that decides its time."""
    named = topics().operations_of(" ".join(operations))
    return not operations or has_products(named) or not has_products(operations_in(task))


def dtypes_of(interface: Interface) -> tuple[str, ...]:
    return tuple(dict.fromkeys(t.dtype for t in (*interface.inputs, *interface.state, *interface.outputs)))


def family_of(title: str, backend: str, language: str) -> str:
    """The kind of machine.

    Args:
        title: Titles of the target and its ancestors.
        backend: That of its `Isa`; empty if it has none.
    """
    for family in topics().families:
        by_title = str(family.get("title", ""))
        if backend in _names(family, "backends") or (by_title and re.search(by_title, title)):
            return str(family["name"])
    by_language = (str(f["name"]) for f in topics().families if language in _names(f, "languages"))
    return next(by_language, "npu")


def language_named(name: str) -> str:
    """The name of a language that may be given in any case, or by another name of it."""
    plain = name.strip().lower()
    return topics().aliases.get(plain, plain)


def _own(kind: str, subject: Subject) -> set[str]:
    """The subject's own topics of a kind."""
    match kind:
        case "operation":
            known = set(subject.operations)
            return known if known or subject.multiplies else {*topics().words["operation"]} - PRODUCTS
        case "dtype":
            own = {_narrow(dtype) for dtype in (*subject.dtypes, *subject.products_in)}
            return own | ({"mixed"} if own and {*subject.dtypes} != {"float32"} else set())
        case "language":
            return {subject.language}
        case "step":
            return set(subject.steps)
        case "isa":
            return set(subject.targets) if subject.family == "cpu" else set()
    return {subject.limit} if subject.limit else set()


def _narrow(dtype: str) -> str:
    """The data type of topics.toml to which one of torch belongs: `float8_e4m3fn` to `float8`."""
    return {"uint8": "int8", "bfloat16": "float16"}.get(dtype, dtype.partition("_")[0])


def _names(family: Mapping[str, object], key: str) -> list[str]:
    found = family.get(key, [])
    return found if isinstance(found, list) else []


@cache
def topics() -> Topics:
    table = tomllib.loads(files("synth.briefing").joinpath("topics.toml").read_text(encoding="utf-8"))
    entries = ("operation", "step", "dtype")
    plain = {kind: {name: entry["words"] for name, entry in table[kind].items()} for kind in entries}
    words = {**plain, **{kind: table[kind] for kind in ("language", "limit", "isa")}}
    return Topics(
        code={name: re.compile(entry["code"]) for name, entry in table["operation"].items()},
        steps={name: re.compile(entry["code"]) for name, entry in table["step"].items()},
        words={kind: {name: _pattern(text) for name, text in own.items()} for kind, own in words.items()},
        common=frozenset(name for name, entry in table["dtype"].items() if entry.get("common")),
        tags=table["tags"],
        families=tuple(table["family"]),
        known=frozenset(table["known"]["languages"]),
        aliases=table["aliases"],
        parts={name: _pattern(entry["part"]) for name, entry in table["operation"].items() if "part" in entry},
        units={name: _pattern(text) for name, text in table["unit"].items()},
        judged={name: _pattern(text) for name, text in table["judged"].items()},
        apart=frozenset(name for name, entry in table["operation"].items() if entry.get("apart")),
        only=frozenset(name for name, entry in table["operation"].items() if entry.get("only")),
        hidden={name: _pattern(text) for name, text in table["hidden"].items()},
        structures={name: tuple(entry.get("structures", ())) for name, entry in table["operation"].items()},
        never=_pattern(table["never"]["words"]),
        paths=_pattern(table["never"]["paths"]),
    )


def _pattern(text: str) -> re.Pattern[str]:
    """A pattern that a file spreads over several lines."""
    return re.compile(re.sub(r"\n\s*", "", text.strip()), re.IGNORECASE | re.MULTILINE)
