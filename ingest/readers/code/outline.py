"""The definitions of a code file: their names, their lines, and which stand inside which."""

import ast
import re
from collections.abc import Iterator

from ingest.readers.code.braces import braced
from ingest.readers.code.text import Code, Definition


def outline(code: Code) -> list[Definition]:
    """Return the outermost definitions of `code`, in its order; a file that no rule understands has none."""
    if code.tree:
        return list(_of_tree(code.tree, code))
    if not code.language.has_braces:
        return _by_indentation(code)
    return braced(code)


def _of_tree(parent: ast.AST, code: Code) -> Iterator[Definition]:
    waiting = list(ast.iter_child_nodes(parent))[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            header, end = node.lineno - 1, node.end_lineno or node.lineno
            first = min([header, *(decorator.lineno - 1 for decorator in node.decorator_list)])
            yield Definition(node.name, code.above(first), header, end, list(_of_tree(node, code)))
        elif not isinstance(node, ast.expr):
            waiting += list(ast.iter_child_nodes(node))[::-1]


def _by_indentation(code: Code) -> list[Definition]:
    """Find definitions that end before the next one with the same indentation or less."""
    pattern = re.compile(code.language.definition, re.MULTILINE | re.IGNORECASE)
    outer: list[Definition] = []
    open_: list[tuple[int, Definition]] = []
    for found in pattern.finditer(code.bare):
        number = found.lastindex or 0
        header = code.line_of(found.start(number))
        line = code.lines[header].expandtabs()
        indent = len(line) - len(line.lstrip())
        definition = Definition(found[number], code.above(header), header, len(code.lines))
        while open_ and open_[-1][0] >= indent:
            open_.pop()[1].end = definition.first
        (open_[-1][1].inner if open_ else outer).append(definition)
        open_.append((indent, definition))
    return outer
