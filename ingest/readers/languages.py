"""The languages of source code: the endings of their files, and how their comments and definitions begin."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    """As Markdown's fences name it."""
    comments: str
    """Pattern of a comment."""
    strings: str
    """Pattern of a string; code is searched outside comments and strings."""
    definition: str = ""
    """Pattern of the line that begins a definition, its name the last group; empty for the family of C."""
    has_braces: bool = True
    """Whether a definition ends with a brace; otherwise it ends before the next one that is not indented further."""


_STRINGS = r"""\"{3}.*?(?:\"{3}|\Z)|"(?:\\.|[^"\\\n])*"|'(?:\\.[^'\n]*|[^'\\\n])'"""
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_DIRECTIVE = r"#[ \t]*(?:if|ifdef|ifndef|else|elif|endif|include|define|undef|pragma|error)\b"
"""Of the preprocessor, whose lines begin like a comment of some assemblers."""
_MODIFIERS = r"^[ \t]*(?:[\w@]+(?:\([^()\n]*\)|\"[^\"\n]*\")?[ \t]+)*?"
"""Words that may stand before the keyword of a definition."""


def _c(name: str) -> Language:
    return Language(name, _SLASHES, rf'R"(?P<raw>[^\s()\\]{{0,16}})\(.*?(?:\)(?P=raw)"|\Z)|{_STRINGS}')


def _braced(name: str, keywords: str, named: str = r"[\w.]+") -> Language:
    return Language(name, _SLASHES, _STRINGS, rf"{_MODIFIERS}(?:{keywords})[ \t]+({named})")


def _indented(name: str, header: str, comments: str) -> Language:
    return Language(name, comments, _STRINGS, rf"^[ \t]*{header}", has_braces=False)


_PYTHON = _indented("python", r"(?:async +def|def|class|cdef|cpdef)[ \t]+(?:\w+[ \t]+)?(\w+)[ \t]*[(:\[]", r"#[^\n]*")
_RUST = Language(
    "rust",
    _SLASHES,
    rf'\br(?P<hashes>#+)".*?(?:"(?P=hashes)|\Z)|{_STRINGS}',
    rf"{_MODIFIERS}(?:(?:fn|struct|enum|union|trait|mod|macro_rules!)[ \t]+(\w+)|(impl\b[^{{;]*))",
)
_GO = Language("go", _SLASHES, rf"`[^`]*`|{_STRINGS}", r"^(?:func[ \t]+(?:\([^)\n]*\)[ \t]*)?|type[ \t]+)(\w+)")
_MLIR = Language("mlir", r"//[^\n]*", _STRINGS, r"^[ \t]*(?:[\w.]+\.)?func\b[^@\n{]*@([\w$.-]+)")
_LLVM = Language("llvm", r";[^\n]*", _STRINGS, r"^define\b[^@\n]*@([\w$.-]+)")
_PTX = Language("ptx", _SLASHES, _STRINGS, r"^[ \t]*(?:\.\w+[ \t]+)*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$%]+)")
_ASSEMBLY = _indented("asm", r"([A-Za-z_$][\w$.@]*):(?!:)", rf"{_SLASHES}|(?:^|(?<=\s))(?!{_DIRECTIVE})[#;@][^\n]*")
_JULIA = _indented(
    "julia", r"(?:@\w+[ \t]+)*(?:function|macro|(?:mutable )?struct|module)[ \t]+([\w.!]+)", r"#=.*?(?:=#|\Z)|#[^\n]*"
)
_MOJO = _indented("mojo", r"(?:def|fn|struct|trait)[ \t]+(\w+)", r"#[^\n]*")
_FORTRAN = _indented(
    "fortran", r"(?:(?!end\b)\w+(?:\([^)\n]*\))?[ \t]+)*?(?:subroutine|function|module|program)[ \t]+(\w+)", r"![^\n]*"
)
_VERILOG = _indented(
    "verilog",
    r"(?:virtual[ \t]+)?(?:(?:module|interface|package|class)[ \t]+(?:automatic[ \t]+)?(\w+)"
    r"|(?:function|task)[ \t]+(?:[\w\[\]:]+[ \t]+)*?(\w+)[ \t]*[(;])",
    _SLASHES,
)
_VHDL = _indented("vhdl", r"(?:entity|architecture|package|function|procedure)[ \t]+(?:body[ \t]+)?(\w+)", r"--[^\n]*")

LANGUAGES = {
    **dict.fromkeys((".c", ".h", ".xc"), _c("c")),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tpp"), _c("cpp")),
    **dict.fromkeys((".cu", ".cuh"), _c("cuda")),
    ".hip": _c("hip"),
    ".cl": _c("opencl"),
    ".metal": _c("metal"),
    ".ispc": _c("ispc"),
    ".glsl": _c("glsl"),
    ".hlsl": _c("hlsl"),
    **dict.fromkeys((".py", ".pyi", ".pyx"), _PYTHON),
    ".rs": _RUST,
    ".go": _GO,
    ".mlir": _MLIR,
    ".td": _braced("tablegen", "def|defm|class|multiclass", r"\w+"),
    ".ll": _LLVM,
    ".ptx": _PTX,
    **dict.fromkeys((".s", ".asm"), _ASSEMBLY),
    ".jl": _JULIA,
    ".mojo": _MOJO,
    **dict.fromkeys((".f", ".f90"), _FORTRAN),
    **dict.fromkeys((".v", ".sv", ".svh", ".vh"), _VERILOG),
    **dict.fromkeys((".vhd", ".vhdl"), _VHDL),
    ".scala": _braced("scala", "class|object|trait|def"),
    ".swift": _braced("swift", "class|struct|enum|protocol|extension|func"),
    ".zig": _braced("zig", "fn|const"),
    ".csl": _braced("csl", "fn|task|const"),
    ".wgsl": _braced("wgsl", "fn|struct"),
}
"""Language of each ending of a file name that is source code."""
