"""Writes the toolchain of a seed's chip: the file with which kb judges kernels for it, and the simulator beside it."""

import json
import shutil
from pathlib import Path

from benchmarks.unseen.chip import Chip, chip
from benchmarks.unseen.faults import FaultKind
from benchmarks.unseen.kernels import naive

PACKAGE = Path(__file__).parent
TASKS = PACKAGE / "tasks"
SIMULATOR = (
    "assembly.py", "chip.py", "engines.py", "faults.py", "host.py", "instructions.py", "machine.py", "matrix.py",
    "run_kernel.py", "scratchpad.py", "words.py",
)  # fmt: skip
"""The files that the simulator consists of. They need numpy only."""
EXAMPLE = "scaled-add"
ELEMENTS = 1 << 15
"""Most elements of all tensors of a case: more than any task has."""
OUTCOMES = {
    FaultKind.UNKNOWN_INSTRUCTION: "unsupported",
    FaultKind.BAD_OPERAND: "compile_error",
    FaultKind.REGISTER_RANGE: "compile_error",
    FaultKind.SCRATCHPAD_OVERFLOW: "over_limit",
    FaultKind.LIMIT: "over_limit",
    FaultKind.RACE: "race",
    FaultKind.DEADLOCK: "timed_out",
    FaultKind.RUNAWAY: "timed_out",
}
"""What kb's judge calls a fault; one that is not here is `raised`."""


def rules(of: Chip) -> str:
    """What an author is told of the form of an answer, and nothing of the chip."""
    names = of.names
    return f"""\
Write one program in {names.language}, the assembly language of the {names.chip}. It solves the task at any sizes up
to those given, which are multiples of nothing: it reads addresses, sizes and the numbers given to the model from the
{names.argument_table}, whose layout the documents describe. At first the output's memory holds anything. The program
ends after its last line. The documents describe instructions, registers, memories, transfers, timing and hazards;
errata come before other texts.
"""


def write(seed: int, folder: Path) -> Path:
    """Write the toolchain of a seed into a folder, such as `toolchains` of a home. Returns the TOML file."""
    found = chip(seed)
    name = found.names.chip.lower()
    own = folder / name / PACKAGE.parent.name / PACKAGE.name
    own.mkdir(parents=True, exist_ok=True)
    for module in SIMULATOR:
        shutil.copyfile(PACKAGE / module, own / module)
    shutil.copyfile(task_file(EXAMPLE), folder / f"{name}_task.py")
    (folder / f"{name}_example.s").write_text(naive(found, EXAMPLE), encoding="ascii")
    file = folder / f"{name}.toml"
    file.write_text(_toml(found), encoding="ascii")
    return file


def task_file(task: str) -> Path:
    return TASKS / f"{task.replace('-', '_')}.py"


def write_tasks(folder: Path) -> None:
    """Copy the tasks into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(TASKS.glob("*.py")):
        shutil.copyfile(file, folder / file.name)


def _toml(found: Chip) -> str:
    name = found.names.chip.lower()
    messages = "\n".join(f'  {{ pattern = "^{kind}:", outcome = "{outcome}" }},' for kind, outcome in OUTCOMES.items())
    return f'''\
title = "{found.names.chip}, a chip that nobody has seen: simulated; its cycles say nothing of hardware"
targets = ["{name}"]
grade = "simulated"
run = "{{python}} -s -m benchmarks.unseen.run_kernel {found.seed} {{candidate}}"
environment = {{ PYTHONPATH = "{{here}}/{name}:{{contract}}" }}
task = "{name}_task.py"
example = "{name}_example.s"
needs = [{{ package = "numpy", install = "pip install numpy" }}]
cycles = "simulated cycles: ([0-9]+)"
messages = [
{messages}
]
limits = {{ seconds = 60, memory_mb = 1024, elements = {ELEMENTS} }}

[language]
name = "{found.names.language}"
suffix = ".s"
fences = ["asm", "text"]
searched = {json.dumps([f"{found.names.language} program instructions operands", "hazards errata limits of transfers"])}
tunable = ""
rules = """
{rules(found)}"""
'''
