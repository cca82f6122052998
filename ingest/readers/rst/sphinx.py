"""Directives and roles that docutils does not know, or treats differently from Sphinx: their text is kept."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, roles
from docutils.parsers.rst import directives as rst_directives
from docutils.parsers.rst.directives.tables import CSVTable

from ingest.readers import directives

LABEL, FURNITURE, GENERATED = "kb-label", "kb-furniture", "kb-generated"
"""Marks on nodes: the title of a section; text that belongs to the page; a name that a program fills in."""
_SIGNATURE = re.compile(r"[\w.]+\(|[A-Z]\w*$|\w+(\.\w+)+$")


class _Fallback(Directive):
    """Stands in for an unknown directive: keeps its argument and its parsed content."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    # Every option is text. docutils would take an empty dictionary for 'no options'.
    option_spec: ClassVar[Any] = defaultdict(lambda: rst_directives.unchanged, name=rst_directives.unchanged)

    def run(self) -> list[nodes.Node]:
        argument = "\n".join(self.arguments).strip()
        name = self.name.lower()
        if name in directives.SILENT:
            return []
        if name in directives.CODE:
            return self._code(argument.split("\n") if argument else [])
        node = nodes.container()
        node.line = self.lineno
        if name in directives.NAVIGATION:
            fields = [f"{key}: {value}" for key, value in self.options.items() if name == "meta"]
            above = enumerate([*argument.split("\n"), *fields], self.lineno)
            node[FURNITURE] = [*above, *enumerate(self.content, self.content_offset + 1)]
            return [node]
        if name in directives.CHANGES:
            argument = f"{name}: {argument}"
        is_style = name == "class" and not _SIGNATURE.match(argument)
        if not is_style and (label := directives.label(name, argument)):
            node[LABEL] = label
        elif argument and not is_style and name not in directives.CONTAINERS:
            paragraph = nodes.paragraph(argument, argument)
            paragraph.line = self.lineno
            node += paragraph
        memo = self.state.memo  # headings begin anew inside: they may be of any level outside
        outside, memo.title_styles, memo.section_level = (memo.title_styles, memo.section_level), [], 0
        self.state.nested_parse(self.content, self.content_offset, node, match_titles=True)
        memo.title_styles, memo.section_level = outside
        if directives.is_generated(name):
            for paragraph in node.findall(nodes.paragraph):
                paragraph[GENERATED] = True
        return [node]

    def _code(self, argument: list[str]) -> list[nodes.Node]:
        """Return the code below the directive, and that on the directive's own line unless it names a language."""
        begins_below = self.block_text.partition("\n")[0].rstrip().endswith("::")
        takes_language = self.name in directives.WITH_LANGUAGE
        names_language = bool(argument) and not begins_below and takes_language
        language = argument[0].split()[0] if names_language else "" if takes_language else self.name
        above = argument[names_language:]
        code = "\n".join([*above, *self.content])
        node = nodes.literal_block(code, code, language=language)
        node.line = self.lineno + (begins_below or names_language) if above else self.content_offset + 1
        return [node]


class _Raw(_Fallback):
    def run(self) -> list[nodes.Node]:
        markup = "\n".join(self.content)
        node = nodes.raw(markup, markup, format=" ".join(self.arguments).lower())
        node.line = self.content_offset + 1
        return [node]


class _CodeTab(_Fallback):
    """`.. code-tab:: language label`"""

    def run(self) -> list[nodes.Node]:
        language, _, label = " ".join(self.arguments).partition(" ")
        tab = nodes.container("", *self._code([]))
        tab.line = self.lineno
        tab[LABEL] = label or language
        tab.children[0]["language"] = language  # type: ignore[index]
        return [tab]


class _CsvTable(CSVTable):
    """A table whose rows know their lines; docutils counts lines from the first line of each cell."""

    _begins: Sequence[int] = ()
    """Lines of the content on which the rows begin."""

    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        found = super().run()
        rows = [row for node in found for row in node.findall(nodes.row)]
        lines = [self.content_offset + 1 + n for n in self._begins]
        for row, line in zip(rows, [self.lineno] * (len(rows) - len(lines)) + lines, strict=False):
            row.line = line
        return found

    def parse_csv_data_into_rows(self, csv_data: Sequence[str], dialect: Any, source: str) -> Any:  # noqa: ANN401
        """docutils calls this first for the header in the options, if there is one, and last for the content."""
        parsed = super().parse_csv_data_into_rows(csv_data, dialect, source)  # type: ignore[no-untyped-call]
        reader = csv.reader((line + "\n" for line in csv_data), dialect=dialect)
        self._begins = [0, *(reader.line_num for _ in reader)][:-1]
        return parsed


_OURS: dict[str, type[Directive]] = {
    **dict.fromkeys(directives.CODE | directives.SILENT | directives.NAVIGATION, _Fallback),
    "class": _Fallback,
    "csv-table": _CsvTable,
    "code-tab": _CodeTab,
    "raw": _Raw,
}


def _fallback_role(name: str) -> Callable[..., Any]:
    shown_as = nodes.inline if name in directives.PLAIN_ROLES else nodes.literal

    def role(
        _name: str, rawtext: str, text: str, *_rest: object, **_options: object
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return [shown_as(rawtext, directives.role_text(text))], []

    return role


@contextmanager
def fallbacks() -> Iterator[None]:
    """Let docutils find a directive and a role for every name while this context is open.

    docutils keeps its registries for the whole process, but one document's names must not affect the next document.
    """
    find_directive: Callable[..., Any] = rst_directives.directive
    find_role: Callable[..., Any] = roles.role
    known: dict[str, Any] = roles._roles  # type: ignore[attr-defined]  # noqa: SLF001
    before = dict(known)

    def directive(name: str, *where: object) -> tuple[type[Directive], list[nodes.system_message]]:
        return _OURS.get(name.lower()) or find_directive(name, *where)[0] or _Fallback, []

    def role(name: str, *where: object) -> tuple[Callable[..., Any], list[nodes.system_message]]:
        return find_role(name, *where)[0] or _fallback_role(name), []

    rst_directives.directive, roles.role = directive, role  # type: ignore[assignment]
    try:
        yield
    finally:
        rst_directives.directive, roles.role = find_directive, find_role
        known.clear()
        known.update(before)
