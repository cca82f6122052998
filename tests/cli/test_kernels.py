"""`kb verify`, `prompt`, `submit`, `optimize`, `runs`: what they print, write and refuse."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from kb.catalog import Catalog
from tests.cli.conftest import Run
from tests.synth.model_server import failure, serving

TASK = '''"""Every row of a matrix, doubled and shifted."""
import torch
from torch import nn

ROWS = 64
COLUMNS = 64


class Model(nn.Module):
    def forward(self, x):
        return 2 * x + 1


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
'''
RIGHT = """#include "kb_tensor.h"
constexpr int STEP = 1;  // tune: 1, 2
extern "C" void model_new(const Tensor *in, const Tensor *state, const double *init, Tensor *out) {
    const float *x = (const float *)in[0].data;
    float *y = (float *)out[0].data;
    for (int64_t i = 0; i < in[0].count; i++) y[i] = 2 * x[i] + 1;
}
"""
SLOW = RIGHT.replace("STEP = 1;", "STEP = 1;\nvolatile int waited;").replace(
    "    for", "    for (int i = 0; i < 1000000; i++) waited = i;\n    for"
)
"""It loses clearly, so that one session decides."""
TRITON = """import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < count) + FACTOR, mask=at < count)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""
SCREENED = TRITON.replace("FACTOR", "1")
WRONG = TRITON.replace("FACTOR", "2")

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="candidates are judged on Linux only")
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    file = tmp_path / "double_rows.py"
    file.write_text(TASK)
    return file


@pytest.fixture
def no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.judge.driver.subprocess.Popen", lambda *given, **named: pytest.fail("a judge started"))


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TASK.replace("class Model", "class Modul"), "does not define Model"),
        (TASK.replace("def get_in", "def got_in"), "does not define get_inputs and get_init_inputs"),
        (TASK.replace("return 2", "return ("), "is not valid Python"),
    ],
)
def test_a_file_that_is_not_a_task_is_refused_in_one_line(run: Run, tmp_path: Path, text: str, message: str) -> None:
    file = written(tmp_path, "task.py", text)
    for command in (("verify", file, file), ("prompt", file), ("optimize", file)):
        assert message in run(*command, "--target", "mi300x").refusal[0]


def test_a_missing_task_file_is_refused(run: Run, tmp_path: Path) -> None:
    assert "cannot be read" in run("optimize", tmp_path / "none.py", "--target", "mi300x").refusal[0]


def test_a_candidate_in_an_unknown_language_is_refused(run: Run, task: Path) -> None:
    message, hint = run("verify", task, written(task.parent, "kernel.rs", ""), "--target", "mi300x").refusal
    assert "name ends in .rs" in message
    assert ".cpp" in hint


@pytest.mark.usefixtures("judge_here")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--language", "cpp"), "kernels for mi300x are not written in cpp"),
        (("--author", "oracle"), "'oracle' names no author"),
        (("--target", "mi9000"), "unknown target 'mi9000'"),
        (("--author", "claude-opus-5-5"), "costs money, and no budget allows it"),
        (("--author", "claude-opus-5-5", "--budget", "2"), "'2' is no budget"),
        (("--author", "none", "--author", "files:here"), "`--author none` and another author"),
        (("--author", "none", "--devices", "77"), "no device '77' may judge here"),
        (("--author", "none", "--devices", "cpu"), "of cpu there is no mi300x"),
        (("--author", "none", "--pool", "ray"), "a pool judges what authors write"),
    ],
)
@pytest.mark.usefixtures("no_judge")
def test_an_unknown_choice_is_refused(run: Run, task: Path, options: tuple[str, ...], message: str) -> None:
    assert message in run("optimize", task, "--target", "mi300x", *options).refusal[0]


@pytest.mark.usefixtures("no_judge")
def test_no_prompt_is_made_for_a_target_without_documents(run: Run, task: Path, home: Path) -> None:
    message, hint = run("prompt", task, "--target", "a100").refusal
    assert "there are no documents about a100" in message
    assert "kb ingest" in hint
    assert not (home / "runs").exists()


@pytest.mark.parametrize(
    ("code", "language", "shows"),
    [
        ("c\nint x;", "cpp", "cpp (1)"),
        ("c\nint x;", "triton", "cpp (1) and none in triton"),
        ("python\nrow = tl.program_id(0)", "triton", "triton (1)"),
    ],
)
def test_without_a_compiler_a_prompt_says_that_nobody_judges_and_what_code_the_documents_show(
    run: Run, task: Path, tmp_path: Path, code: str, language: str, shows: str
) -> None:
    (tmp_path / "qchip").mkdir()
    (tmp_path / "qchip" / "manual.md").write_text(f"# Qchip\n\nIt has 4 cores.\n\n```{code}\n```\n")
    run("ingest", tmp_path / "qchip")

    shown = run("prompt", task, "--target", "qchip", "--language", language)

    assert shown.out.startswith("You write compute kernels for one piece of hardware. Somebody who has its compiler")
    said = f"kb knows no compiler for qchip, so it cannot judge the answer; its documents show code in {shows}\n"
    assert said in shown.err


def test_a_language_that_models_know_is_taught_where_the_documents_of_an_npu_use_it(
    run: Run, task: Path, tmp_path: Path
) -> None:
    (tmp_path / "hexagon").mkdir()
    (tmp_path / "hexagon" / "manual.md").write_text(
        "# Element-wise kernels\n\nA Triton kernel loads, adds and stores one block:\n\n"
        "```python\n@triton.jit\ndef add(x, y, N: tl.constexpr):\n    i = tl.arange(0, N)\n"
        "    tl.store(y + i, tl.load(x + i) + 1)\n```\n\n"
        "## Load and store\n\nThe function `tl.load` loads at most 128 bytes, and `tl.store` stores them.\n"
    )
    run("ingest", tmp_path / "hexagon")

    shown = run("prompt", task, "--target", "hexagon", "--language", "triton").out

    assert "at most 128 bytes" in shown
    assert "tl.store(y + i" in shown


@pytest.mark.parametrize(
    ("language", "status", "said"),
    [
        ("foo", 1, "neither kb nor a document of qchip names a language 'foo'"),
        ("qlang", 0, "it cannot judge the answer"),
        ("C", 0, "note: the language C is called cpp here\n"),
    ],
)
def test_a_language_that_nobody_judges_must_be_known_to_kb_or_named_by_a_document(
    run: Run, task: Path, tmp_path: Path, home: Path, language: str, status: int, said: str
) -> None:
    (tmp_path / "qchip").mkdir()
    (tmp_path / "qchip" / "manual.md").write_text("# Qchip\n\nIt has 4 cores. Kernels are written in QLang.\n")
    run("ingest", tmp_path / "qchip")

    shown = run("prompt", task, "--target", "qchip", "--language", language)

    assert (shown.status, len([*(home / "runs").glob("*")])) == (status, 1 - status)
    assert said in shown.err


@pytest.mark.usefixtures("judge_here")
def test_the_reasons_of_a_prompt_are_shown_without_a_run(run: Run, task: Path, home: Path) -> None:
    shown = run("prompt", task, "--target", "mi300x", "--why")

    assert shown.out.startswith("draft: ")
    assert "is waiting" not in shown.err
    assert not (home / "runs").exists()


def test_a_prompt_says_that_this_machine_lacks_what_its_toolchain_needs(
    run: Run, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.languages.toolchain.version_of", lambda need: None)

    for options in ((), ("--why",)):
        shown = run("prompt", task, "--target", "riscv-rvv", *options)
        assert "kb cannot judge the answer here: this machine lacks ziglang (`pip install" in shown.err


def test_a_malformed_skill_is_named_and_hides_no_other(run: Run, home: Path) -> None:
    (home / "skills" / "torn").mkdir(parents=True)
    (home / "skills" / "torn" / "SKILL.md").write_text("---\nname: other\n---\n")

    shown = run("skills", "list")

    assert shown.status == 0
    assert "torn" in shown.err
    assert "torn" not in shown.out
    assert "is not a skill" in run("skills", "show", "torn").refusal[0]


def test_an_unknown_run_is_refused(run: Run, task: Path) -> None:
    for command in (("runs", "show", "none"), ("runs", "resume", "none"), ("submit", "none", task)):
        assert "there is no run 'none'" in run(*command).refusal[0]


@needs_linux
@pytest.mark.usefixtures("judge_here")
@needs_compiler
def test_a_candidate_with_a_syntax_error_is_refused_with_the_compilers_words(run: Run, task: Path) -> None:
    done = run(
        "verify", task, written(task.parent, "kernel.cpp", RIGHT.replace("float *y", "flaot *y")), "-t", "cpu-x86"
    )
    assert done.status == 1
    assert done.out.startswith("compile_error: double-rows on cpu-x86")
    assert "flaot" in done.out


@needs_linux
@needs_compiler
@pytest.mark.alone
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["eager", "compiled"])
def test_a_correct_candidate_is_timed_and_exits_with_status_0(
    run: Run, task: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    if compiled:  # the first time on a machine it takes a minute
        monkeypatch.delenv("TORCHDYNAMO_DISABLE")
    done = run("verify", task, written(task.parent, "kernel.cpp", SLOW), "--target", "cpu-x86", "--json")
    assert done.status == 0
    evidence = done.json["evidence"]
    assert evidence["grade"] == "measured"
    assert evidence["timing"]["sessions"]
    assert evidence["timing"]["baselines_us"].keys() == ({"eager", "torch.compile"} if compiled else {"eager"})
    assert evidence["environment"]["compiler"]


@pytest.mark.slow
@needs_linux
@pytest.mark.usefixtures("judge_here")
def test_a_kernel_for_another_chip_is_screened_and_no_speed_is_claimed(run: Run, task: Path, home: Path) -> None:
    done = run("verify", task, written(task.parent, "kernel.py", SCREENED), "--target", "mi300x")
    assert done.status == 0, done
    assert "its speed is unknown" in done.out
    assert re.search(r"at best [\d.]+ us: [\d,]+ B at [\d.]+ TB/s", done.out), "how fast it could be"
    cited = set(re.findall(r"\[kb cite (\w+)\]", done.out))
    assert cited
    with Catalog(home) as catalog:
        assert all(catalog.fact(key) for key in cited)


@needs_linux
@pytest.mark.usefixtures("judge_here")
def test_a_prompt_explains_itself_and_can_be_had_for_another_stage_and_device(run: Run, task: Path, home: Path) -> None:
    why = run("prompt", task, "--target", "mi300x", "--stage", "draft", "--why").out
    assert "Which options of the compiler and of a launch matter?" in why

    away = run("prompt", task, "--target", "mi300x", "--stage", "draft", "--device", "mi325x").out
    assert "A GPU of this target runs and times it" in away

    for words, message in (("fix", "has an attempt to fix"), ("polish", "there is no stage 'polish'")):
        assert message in run("prompt", task, "--target", "mi300x", "--stage", words).refusal[0]
    assert list((home / "runs").glob("*")) == []


@pytest.mark.usefixtures("judge_here")
def test_a_run_by_hand_goes_from_prompt_to_diagnosis(run: Run, task: Path, home: Path) -> None:
    asked = run("prompt", task, "--target", "mi300x", "--evaluations", "2")
    assert asked.status == 0, asked
    assert "64-lane wavefronts" in asked.out
    (folder,) = (home / "runs").iterdir()

    wrong = run("submit", folder.name[-4:], written(task.parent, "kernel.py", WRONG))
    assert wrong.status == 1
    assert wrong.out.startswith("incorrect: double-rows on mi300x")
    assert "times the error allowed" in wrong.out.partition("## ")[2], "the next prompt says what was wrong"

    answer = f"note: adds one\n\n```python\n{SCREENED}```\n"
    right = run("submit", folder.name[-4:], written(task.parent, "answer.md", answer), "--json")
    assert right.status == 0
    assert right.json["verdict"]["evidence"]["grade"] == "compiled"
    assert right.json["ended"] == "all evaluations are spent"
    assert "is over" in run("submit", folder.name[-4:], task.parent / "answer.md").refusal[0]

    (listed,) = run("runs", "list", "--json").json
    assert [a["verdict"]["evidence"]["outcome"] for a in listed["attempts"]] == ["incorrect", "passed"]


@pytest.mark.slow
@needs_linux
@pytest.mark.usefixtures("judge_here")
def test_a_refused_key_stops_the_run_with_one_line_and_the_run_can_be_resumed(
    run: Run, task: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    with serving(failure(401, "authentication_error")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        done = run("optimize", task, "--target", "mi300x", "--author", "claude-opus-5-5", "--budget", "2usd")
    assert done.status == 1
    errors = [line for line in done.err.splitlines() if not line.startswith("note:")]
    assert [line.partition(":")[0] for line in errors] == ["error", "hint"], errors
    assert "key" in errors[0]
    (folder,) = (home / "runs").iterdir()
    plan = json.loads((folder / "run.json").read_text())
    assert (plan["authors"], plan["budget"]["dollars"]) == (["anthropic:claude-opus-5-5"], 2)
    asked, answered = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    assert (asked["kind"], answered["exchange"]["outcome"]) == ("asked", "key_refused")
    assert "not-a-key" not in (folder / "journal.jsonl").read_text() + done.err
