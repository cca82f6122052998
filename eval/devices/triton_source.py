"""Take the Triton kernels out of a candidate's file, as text that holds nothing but Triton's language.

What is left is the same for the interpreter and for the compiler: kernels, the constants and imports that they use, and
nothing that runs when it is imported. The text may use no means to find out which of the two reads it.
"""

import ast
import importlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn

from eval.fault import Fault
from kb.types.evidence import Outcome

BUILTINS = {"range", "min", "max", "len", "float", "int"}
"""Functions of Python that Triton's language has too, and that mean the same to interpreter and compiler."""
TYPE_ATTRIBUTES = {
    "dtype", "shape", "element_ty", "scalar", "value", "primitive_bitwidth",
    "is_floating", "is_int", "is_int_signed", "is_int_unsigned", "is_fp64", "is_fp32", "is_fp16", "is_bf16", "is_fp8",
}  # fmt: skip
JIT_OPTIONS = {"do_not_specialize", "do_not_specialize_on_alignment", "noinline"}
EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Tuple, ast.Call,
    ast.keyword, ast.expr_context,
)  # fmt: skip
"""What a constant at the top of the file may consist of."""
STATEMENTS = (
    *EXPRESSIONS, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Pass,
    ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp, ast.Subscript, ast.Slice, ast.List, ast.Starred,
    ast.Assert,
)  # fmt: skip
"""What the body of a kernel may consist of. Not f-strings, which interpreter and compiler format differently."""


def kernels_of(source: str, names: Iterable[str], texts: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of some kernels of a file and of all that they use.

    Args:
        names: Names of the kernels: functions at the top level that are decorated with `triton.jit`. Their other
            decorators are left out.
        texts: What Triton would compile for kernels of these names.

    Raises:
        Fault: there is no such kernel, it has another text, or it uses more than Triton's language.
    """
    try:
        return _kernels_of(ast.parse(source), names, {name: ast.parse(text) for name, text in texts.items()})
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the last two if it is nested too deep
        raise Fault(Outcome.COMPILE_ERROR, f"{type(error).__name__}: {error}") from error


def _kernels_of(tree: ast.Module, names: Iterable[str], texts: Mapping[str, ast.Module]) -> str:
    cut = _Cut(tree)
    names = sorted(set(names))
    for name in names:
        if not cut.is_kernel(name):
            _refuse(f"`{name}` is launched, but is no function with @triton.jit at the top level of the file")
        if name in texts and not cut.has_text(name, texts[name]):
            _refuse(f"what is launched as `{name}` is not the kernel of that name in the file")
    for name in names:
        cut.take(name)
    taken = sorted(cut.taken.values(), key=lambda statement: statement.lineno)
    return ast.unparse(ast.fix_missing_locations(ast.Module(list(taken), [])))


class _Cut:
    """The statements that are taken out of a file."""

    def __init__(self, tree: ast.Module) -> None:
        self.taken: dict[str, ast.stmt] = {}
        self._bound: Counter[str] = Counter()
        self._statements: dict[str, ast.stmt] = {}
        self._imported: dict[str, Any] = {}
        for statement in tree.body:
            for part in _single(statement):
                imported = _imported(part) if isinstance(part, ast.Import | ast.ImportFrom) else None
                for name in _names_bound_by(part):
                    again = imported is not None and self._imported.get(name) is imported
                    self._bound[name] += not again
                    self._statements[name], self._imported[name] = part, imported

    def is_kernel(self, name: str) -> bool:
        statement = self._statements.get(name)
        return isinstance(statement, ast.FunctionDef) and self._jit(statement) is not None

    def binds(self, name: str) -> bool:
        return name in self._statements

    def has_text(self, name: str, text: ast.Module) -> bool:
        """Whether a function has the text of a file that holds nothing else, but for its decorators."""
        return [_without_decorators(function) for function in text.body] == [
            _without_decorators(self._statements[name])
        ]

    def take(self, name: str) -> None:
        """Take the statement that binds a name, and whatever it needs."""
        if name in self.taken:
            return
        statement = self._statements.get(name)
        if statement is None:
            _refuse(f"a kernel uses `{name}`, which is not defined at the top level of the file")
        if self._bound[name] > 1:
            _refuse(f"a kernel uses `{name}`, which the file defines more than once")
        self.taken[name] = statement
        if isinstance(statement, ast.FunctionDef) and (jit := self._jit(statement)):
            self.taken[name] = self._kernel(statement, jit)
        elif (value := _assigned(statement)) is not None:
            plain = ast.Assign([ast.Name(name, ast.Store())], value)
            self.taken[name] = ast.copy_location(plain, statement)
            _Reader(self, f"the constant `{name}`", set(), EXPRESSIONS).visit(value)
        elif self.imported(ast.Name(name)) is None:
            _refuse(f"a kernel uses `{name}`, which is no kernel, no constant and no part of Triton's language")

    def imported(self, node: ast.expr) -> Any:
        """What a name such as `tl.exp` stands for; None if it is not part of Triton's language or `math`."""
        if isinstance(node, ast.Name):
            return self._imported.get(node.id)
        if isinstance(node, ast.Attribute) and not node.attr.startswith("_"):
            module = self.imported(node.value)
            if module is _triton("language").PropagateNan or (isinstance(module, ModuleType) and _is_open(module)):
                return getattr(module, node.attr, None)
        return None

    def _jit(self, function: ast.FunctionDef) -> ast.expr | None:
        """The decorator `triton.jit` of a function, with or without options."""
        for decorator in function.decorator_list:
            name = decorator.func if isinstance(decorator, ast.Call) else decorator
            if (found := self.imported(name)) is not None and found is _triton().jit:
                return decorator
        return None

    def _kernel(self, function: ast.FunctionDef, jit: ast.expr) -> ast.FunctionDef:
        """The function without what is not needed: other decorators, and annotations that say nothing to Triton."""
        options = jit.keywords if isinstance(jit, ast.Call) else []
        if any(option.arg not in JIT_OPTIONS or not _is_literal(option.value) for option in options):
            _refuse(f"kernel `{function.name}` has options of triton.jit other than {', '.join(sorted(JIT_OPTIONS))}")
        if (root := _root(jit.func if isinstance(jit, ast.Call) else jit)) is not None:
            self.take(root.id)
        parameters = function.args
        every = [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]
        reader = _Reader(self, f"kernel `{function.name}`", {p.arg for p in every} | _stored(function), STATEMENTS)
        if parameters.vararg or parameters.kwarg:
            reader.refuse("takes any number of arguments", function)
        constant = _Reader(self, f"a default of kernel `{function.name}`", set(), EXPRESSIONS)
        for default in (*parameters.defaults, *filter(None, parameters.kw_defaults)):
            constant.visit(default)
        for parameter in every:
            parameter.annotation = reader.annotation(parameter.annotation)
        body = [reader.statement(statement) for statement in function.body]
        plain = ast.FunctionDef(function.name, parameters, body, [jit])
        return ast.copy_location(plain, function)


class _Reader:
    """Reads a kernel or a constant, takes what it uses, and refuses what Triton's language lacks."""

    def __init__(self, cut: _Cut, where: str, local: set[str], allowed: tuple[type[ast.AST], ...]) -> None:
        self._cut, self._where, self._local, self._allowed = cut, where, local, allowed

    def refuse(self, what: str, node: ast.AST) -> NoReturn:
        _refuse(f"{self._where} {what} (line {getattr(node, 'lineno', '?')})")

    def statement(self, statement: ast.stmt) -> ast.stmt:
        """The statement, read; an annotation that means nothing to Triton is left out."""
        for node in ast.walk(statement):
            for field, block in ast.iter_fields(node):
                if isinstance(block, list):
                    setattr(node, field, [self._plain(part) for part in block])
        statement = self._plain(statement)
        self.visit(statement)
        return statement

    def _plain(self, node: Any) -> Any:
        if not isinstance(node, ast.AnnAssign) or node.value is None:
            return node
        if (constexpr := self.annotation(node.annotation)) is not None:
            node.annotation = constexpr
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def annotation(self, node: ast.expr | None) -> ast.expr | None:
        """The annotation `constexpr`; None for any other, which the compiler alone would read."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return None
        if node is None:
            return None
        if self._cut.imported(node) is not _triton("language").constexpr:
            return None
        self.visit(node)
        return node

    def visit(self, node: ast.AST, *, condition: bool = False) -> None:
        """Read an expression or a statement; `condition` if only its truth counts."""
        if not isinstance(node, self._allowed):
            self.refuse(f"has {type(node).__name__}", node)
        if isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Compare) and not _compares_alike(node):
            self.refuse("compares with `is` or `in`", node)
        elif (decides := _decides(node)) and not condition:
            self.refuse("uses the value of `and`, `or` or `not`; use &, | or ~", node)
        else:
            for field, value in ast.iter_fields(node):
                inner = field == "test" or decides
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.visit(child, condition=inner)

    def _name(self, node: ast.Name) -> None:
        if node.id in self._local or isinstance(node.ctx, ast.Store):
            return
        if node.id in BUILTINS:
            if self._cut.binds(node.id):
                self.refuse(f"uses `{node.id}`, to which the file gives another meaning", node)
            return
        if self._cut.imported(node) is not None:
            self._language(node)
        else:
            self._cut.take(node.id)

    def _attribute(self, node: ast.Attribute) -> None:
        root = _root(node)
        if root is not None and root.id not in self._local and self._cut.imported(node) is not None:
            self._language(node)
            return
        if (
            node.attr in ("element_ty", "scalar")
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "type"
        ):
            node = node.value
        elif node.attr not in TYPE_ATTRIBUTES and node.attr not in _methods():
            self.refuse(f"uses the attribute `{node.attr}`", node)
        self.visit(node.value)

    def _language(self, node: ast.Name | ast.Attribute) -> None:
        if not _is_language(self._cut.imported(node)):
            self.refuse(f"uses `{ast.unparse(node)}`, which is not part of Triton's language", node)
        if (root := _root(node)) is not None:
            self._cut.take(root.id)


def _refuse(why: str) -> NoReturn:
    raise Fault(Outcome.OUTSIDE_KERNELS, why)


def _triton(part: str = "") -> Any:
    return importlib.import_module(f"triton.{part}" if part else "triton")


@cache
def _methods() -> frozenset[str]:
    language = _triton("language")
    return frozenset(n for n in (*dir(language.tensor), *dir(language.tensor_descriptor)) if not n.startswith("_"))


def _is_open(module: ModuleType) -> bool:
    """Whether kernels may use names of a module."""
    name = module.__name__
    return name in ("triton", "math", "triton.language") or name.startswith("triton.language.")


def _is_language(value: Any) -> bool:
    """Whether a value is part of Triton's language; not what tells the target, which only the compiler has."""
    language = _triton("language")
    if isinstance(value, language.dtype | float | type(language.PropagateNan.ALL)):
        return True
    if value in (language.constexpr, language.range, language.static_range, language.pointer_type):
        return True
    module = str(getattr(getattr(value, "fn", value), "__module__", ""))
    if module == "math":
        return callable(value)
    if not module.startswith("triton.") or module == "triton.language.target_info":
        return False
    return hasattr(value, "__triton_builtin__") or hasattr(value, "fn")


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _decides(node: ast.AST) -> bool:
    """Whether this is `and`, `or` or `not`, of which only the truth means the same to interpreter and compiler."""
    return isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _compares_alike(node: ast.Compare) -> bool:
    """Whether a comparison means the same to interpreter and compiler: `is` does for None alone."""
    return all(
        not isinstance(operator, ast.In | ast.NotIn)
        and (not isinstance(operator, ast.Is | ast.IsNot) or (isinstance(right, ast.Constant) and right.value is None))
        for operator, right in zip(node.ops, node.comparators, strict=True)
    )


def _assigned(statement: ast.stmt) -> ast.expr | None:
    """The value that a statement assigns to one name; None for any other statement."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.value
    return None


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _without_decorators(statement: ast.stmt) -> str:
    if not isinstance(statement, ast.FunctionDef):
        return ast.dump(statement)
    return ast.dump(ast.FunctionDef(statement.name, statement.args, statement.body, [], statement.returns))


def _stored(function: ast.FunctionDef) -> set[str]:
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _single(statement: ast.stmt) -> list[ast.stmt]:
    """A statement; one that imports several names as several statements."""
    if isinstance(statement, ast.Import):
        return [ast.copy_location(ast.Import([alias]), statement) for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        parts = [ast.ImportFrom(statement.module, [alias], statement.level) for alias in statement.names]
        return [ast.copy_location(part, statement) for part in parts]
    return [statement]


def _names_bound_by(statement: ast.stmt) -> set[str]:
    """The names that a top-level statement binds, with those within its blocks, but not within functions."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        alias = statement.names[0]
        return {alias.asname or alias.name.partition(".")[0]}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr):
        return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    blocks = [part for part in ast.walk(statement) if isinstance(part, ast.stmt) and part is not statement]
    names = [_names_bound_by(single) for part in blocks for single in _single(part)]
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}.union(*names)


def _imported(statement: ast.Import | ast.ImportFrom) -> Any:
    """The module or the name that a statement imports from Triton or `math`; None for any other."""
    alias = statement.names[0]
    module = alias.name if isinstance(statement, ast.Import) else "." * statement.level + (statement.module or "")
    if module.split(".")[0] not in ("triton", "math"):
        return None
    try:
        found = importlib.import_module(module)
        if isinstance(statement, ast.Import):
            return found if alias.asname else importlib.import_module(module.partition(".")[0])
        if not hasattr(found, alias.name):
            importlib.import_module(f"{module}.{alias.name}")
        return getattr(found, alias.name)
    except (ImportError, AttributeError):
        return None
