"""The skills that ship with kb: each is a valid skill, names its code, and is right at odd sizes."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from skills_ref import read_properties, validate

from kb.types.evidence import Evidence
from tests.examples.tasks import JUDGED, ROOT, SIZES, TEMPLATES, candidate, compare, draw, load, settings, task_of

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
CPP = [path for path in TEMPLATES if candidate(path).language == "cpp"]
TRITON = [path for path in TEMPLATES if candidate(path).language == "triton"]


def name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("template", TEMPLATES, ids=name)
def test_a_template_is_a_valid_skill_that_names_its_code(template: Path):
    kernel = candidate(template)

    assert validate(template) == []
    properties = read_properties(template)
    conditions = {"kb-ops", "kb-dtypes"}
    assert conditions <= properties.metadata.keys()
    assert {key: text for key, text in properties.metadata.items() if key not in conditions} == {
        "kb-schema": "1",
        "kb-target": "cpu-x86" if kernel.language == "cpp" else "any",
        "kb-language": str(kernel.language),
        "kb-code-digest": f"sha256:{kernel.digest}",
    }
    assert (properties.license, properties.name) == ("MIT", f"{task_of(template).replace('_', '-')}-{kernel.language}")
    assert len(properties.description) <= 400
    assert task_of(template) in SIZES


@pytest.mark.parametrize("folder", JUDGED, ids=name)
def test_a_kernel_that_ships_with_a_verdict_is_the_one_that_won(folder: Path):
    (file,) = (folder / "evidence").iterdir()
    evidence = Evidence.model_validate_json(file.read_bytes())

    assert validate(folder) == []
    assert (read_properties(folder).license, read_properties(folder).name) == ("MIT", folder.name)
    assert evidence.candidate_digest == candidate(folder).digest
    assert evidence.won
    assert f"{evidence.speedup:.2f} times as fast as" in read_properties(folder).description


@pytest.mark.parametrize("template", TEMPLATES, ids=name)
def test_a_template_says_what_it_is_and_that_nothing_is_measured(template: Path):
    body = (template / "SKILL.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    kernel = candidate(template)

    assert [line[3:] for line in body.splitlines() if line.startswith("## ")] == [
        *("What", "When to use", "When not to use", "Why it should be fast", "Parameters")
    ]
    assert "No evidence yet: this is a hypothesis until the judge measures it." in body
    assert len(body.splitlines()) < 60
    assert [row.split(" | ")[:2] for row in body.splitlines() if row.startswith("| ")][1:] == [
        [f"| {p.name}", ", ".join(map(str, p.choices))] for p in kernel.parameters
    ]
    assert kernel.parameters
    assert all(p.value in p.choices for p in kernel.parameters)


class Tensor(ctypes.Structure):
    """As in eval/languages/kb_tensor.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("ndim", ctypes.c_int64),
        ("count", ctypes.c_int64),
    )


def tensors(values: list[Any]) -> Any:
    return (Tensor * max(1, len(values)))(
        *(Tensor(v.data_ptr(), (ctypes.c_int64 * v.dim())(*v.shape), v.dim(), v.numel()) for v in values)
    )


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, list[Path]]:
    """Of every C++ template, one library for each of its settings."""
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("templates")

    def build(template: Path, number: int, source: str) -> Path:
        path = folder / f"{template.name}-{number}.cpp"
        path.write_text(source, encoding="utf-8")
        # The first without what this machine has beyond others of its kind.
        flags = ["-march=native"] if number else []
        flags += ["-std=c++17", "-O3", "-fopenmp", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
        command = [COMPILER, *flags, f"-I{ROOT / 'eval/languages'}", str(path), "-o", str(path.with_suffix(".so"))]
        built = subprocess.run(command, check=False, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        return path.with_suffix(".so")

    with ThreadPoolExecutor(2) as pool:
        jobs = {
            template: [
                pool.submit(build, template, i, candidate(template).with_parameters(parameters).source)
                for i, parameters in enumerate(settings(candidate(template)))
            ]
            for template in CPP
        }
        return {template: [job.result() for job in built] for template, built in jobs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("template", CPP, ids=name)
def test_a_cpp_template_is_right_at_odd_sizes(template: Path, libraries: dict[Path, list[Path]]):
    import torch

    for library in libraries[template]:
        model_new = ctypes.CDLL(str(library)).model_new
        for sizes in SIZES[task_of(template)]:
            reference = load(task_of(template), sizes)
            model, inputs, wanted = draw(reference)
            init = reference.get_init_inputs()
            got = torch.full_like(wanted, torch.nan, dtype=torch.float32)

            model_new(
                *(tensors(inputs), tensors(list(model.state_dict().values()))),
                *((ctypes.c_double * (len(init) or 1))(*init), tensors([got])),
            )

            compare(got, wanted, (library.name, sizes))


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What went wrong in Triton's interpreter, by template."""
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("interpreted")
    command = [sys.executable, "-m", "tests.examples.interpret", str(folder)]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("template", TRITON, ids=name)
def test_a_triton_template_is_right_at_odd_sizes(template: Path, interpreted: dict[str, str]):
    assert template.name not in interpreted, interpreted[template.name]
