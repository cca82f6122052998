"""An agent drives a run from the first prompt to a verdict, with tasks from folders that the user named alone."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest
from mcp import Client

from kb.mcp.server import Home, all_tools, server
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from tests.conftest import HashEmbedder
from tests.eval.judging import needs_compiler, needs_linux
from tests.mcp.conftest import Ask, Reply

TASK = '''
import torch

N = 64


class Model(torch.nn.Module):
    """Twice the input."""

    def forward(self, x):
        return 2 * x


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
'''
KERNEL = """\
#include "kb_tensor.h"
void model_new(const Tensor *in, const Tensor *, const double *, Tensor *out) {
    for (int64_t i = 0; i < in[0].count; i++)
        ((float *)out[0].data)[i] = %s * ((const float *)in[0].data)[i];
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "twice.py").write_text(TASK, encoding="utf-8")
    return tasks


@pytest.fixture
def ask(folder: Path, tmp_path: Path) -> Iterator[Ask]:
    settings = Settings.load(tmp_path / "home").model_copy(update={"task_folders": (folder,)})
    home = Home(lambda: KnowledgeBase(settings, embedder=HashEmbedder()))
    served = server(dict.fromkeys(all_tools(runs_tasks=True), home))

    def call(tool: str, /, **arguments: object) -> Reply:
        async def connected() -> Reply:
            async with Client(served) as client:
                return Reply.of(await client.call_tool(tool, arguments))

        return anyio.run(connected)

    yield call
    home.close()


def answer(factor: str) -> str:
    return f"note: times {factor}\n\n```cpp\n{KERNEL % factor}```\n"


@needs_linux
@needs_compiler
@pytest.mark.usefixtures("quick_judge")
def test_a_run_goes_from_the_first_prompt_over_a_refusal_to_a_kernel_that_passes(ask: Ask, folder: Path) -> None:
    first = ask("kb_start_run", task_file=str(folder / "twice.py"), target="cpu-x86", evaluations=2).answer
    assert first["stage"] == "draft"

    refused = ask("kb_submit", run=first["run"], answer=answer("3"), brief=True).answer
    assert not refused["verdict"]["passed"]
    assert (refused["prompt"]["stage"], refused["evaluations_left"]) == ("fix", 1)
    assert refused["prompt"]["text"].startswith("## Attempts so far")

    done = ask("kb_submit", run=first["run"], answer=answer("2")).answer
    assert done["verdict"]["passed"]
    assert (done["prompt"], done["ended"]) == (None, "all evaluations are spent")

    shown = ask("kb_run", run=first["run"]).answer
    assert (shown["best"], len(shown["attempts"]), shown["evaluations_left"]) == (2, 2, 0)
    assert "times 3" in shown["attempts"][0]


@needs_linux
@needs_compiler
@pytest.mark.usefixtures("judge_here")
def test_a_kernel_is_judged_without_a_run(ask: Ask, folder: Path) -> None:
    task = str(folder / "twice.py")

    judged = ask("kb_verify", task_file=task, source=KERNEL % "5", language="cpp", target="cpu-x86").answer

    assert "incorrect" in judged["verdict"]["summary"]


@pytest.mark.parametrize("name", ["../elsewhere.py", "/etc/passwd", "tasks/../../elsewhere.py", "link.py"])
def test_a_task_outside_of_the_folders_is_refused_and_does_not_run(name: str, ask: Ask, folder: Path) -> None:
    elsewhere = folder.parent / "elsewhere.py"
    elsewhere.write_text(f"open({str(folder.parent / 'ran')!r}, 'w')\n{TASK}", encoding="utf-8")
    (folder / "link.py").symlink_to(elsewhere)

    reply = ask("kb_start_run", task_file=str(folder / name), target="cpu-x86")

    assert reply.refused
    assert "lies in no folder whose tasks kb may run for an agent" in reply.text
    assert not (folder.parent / "ran").exists()


@pytest.mark.parametrize("place", ["{folder}/twice.py", "twice.py"])
def test_a_task_is_named_by_its_path_or_by_its_path_within_a_folder(place: str, ask: Ask, folder: Path) -> None:
    reply = ask("kb_start_run", task_file=place.format(folder=folder), target="nothing")

    assert "unknown target 'nothing'" in reply.text


def test_the_digits_at_the_end_of_a_run_may_come_as_a_number(ask: Ask) -> None:
    assert "7319" in ask("kb_run", run=7319).text


@needs_linux
def test_an_answer_without_a_kernel_gets_no_advice_on_prompts(ask: Ask, folder: Path) -> None:
    run = ask("kb_start_run", task_file="twice.py", target="cpu-x86").answer["run"]

    reply = ask("kb_submit", run=run, answer=KERNEL)

    assert reply.refused
    assert reply.text.splitlines()[1:] == ["next: give the whole file in exactly one block fenced as ```cpp"]


def test_without_such_a_folder_no_tool_runs_a_task(tmp_path: Path) -> None:
    home = Home(partial(KnowledgeBase, Settings.load(tmp_path), embedder=HashEmbedder()))

    async def names() -> set[str]:
        async with Client(server(dict.fromkeys(all_tools(), home))) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert not anyio.run(names) & {"kb_start_run", "kb_submit", "kb_verify", "kb_roofline", "kb_run", "kb_tasks"}


def test_the_tasks_of_the_folders_are_listed_without_what_lies_elsewhere_or_is_none(ask: Ask, folder: Path) -> None:
    (folder / "more" / ".hidden").mkdir(parents=True)
    for name in ("more/half.py", "more/.hidden/no.py"):
        (folder / name).write_text(TASK, encoding="utf-8")
    (folder / "helper.py").write_text("N = 1\n", encoding="utf-8")
    (folder.parent / "elsewhere.py").write_text(TASK, encoding="utf-8")
    (folder / "link.py").symlink_to(folder.parent / "elsewhere.py")
    (folder / "circle.py").symlink_to(folder / "circle.py")
    os.mkfifo(folder / "pipe.py")  # whoever opens it waits for ever

    listed = ask("kb_tasks").answer["tasks"]

    assert [task["file"] for task in listed] == ["more/half.py", "twice.py"]
    assert listed[1]["about"] == "twice Twice the input."
    assert "pipe.py cannot be read" in ask("kb_start_run", task_file="pipe.py", target="cpu-x86").text


@needs_linux
@needs_compiler
@pytest.mark.usefixtures("judge_here")
def test_an_agent_that_lost_its_context_gets_prompt_and_report_again_and_spends_nothing(ask: Ask, folder: Path) -> None:
    first = ask("kb_start_run", task_file="twice.py", target="cpu-x86", evaluations=3).answer
    assert ask("kb_run", run=first["run"], prompt=True).answer["prompt"]["text"] == first["text"]

    sent = ask("kb_submit", run=first["run"], answer=answer("3"), brief=True).answer
    again = ask("kb_run", run=first["run"], prompt=True, report=True).answer

    kernel = KERNEL % "3"
    assert (again["evaluations_left"], again["spent"].partition(",")[0]) == (2, "1 of 3 evaluations")
    assert kernel not in sent["prompt"]["text"]
    assert "(the kernel that you sent)" in sent["prompt"]["text"]
    assert again["prompt"]["text"].endswith(
        sent["prompt"]["text"].replace("(the kernel that you sent)", kernel.strip())
    )
    assert again["report"].startswith("# `twice` on `cpu-x86`")
    assert ask("kb_run", run=first["run"]).answer["report"] == ""


@needs_linux
def test_a_run_starts_where_the_system_does_not_say_who_uses_the_machine(
    ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(cores: object) -> object:
        raise FileNotFoundError("/proc/stat")

    monkeypatch.setattr("eval.machine._cpu_ticks", missing)

    assert ask("kb_start_run", task_file="twice.py", target="cpu-x86").answer["run"]


@pytest.mark.parametrize("others", [0.1, 0.8])
def test_a_run_says_beforehand_that_the_machine_is_too_busy_for_times(
    others: float, ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.machine.CpuUse.by_others", lambda self: (others, ("make 80%",)))

    notes = ask("kb_start_run", task_file="twice.py", target="cpu-x86").answer["notes"]

    assert any("80% of this machine's CPU time (make 80%)" in note for note in notes) == (others > 0.15)


@needs_linux
def test_a_roof_that_no_document_states_is_refused_in_words_for_agents(ask: Ask, folder: Path) -> None:
    reply = ask("kb_roofline", task_file="twice.py", target="cpu-x86")

    assert reply.refused
    assert "hbm_bandwidth, the bandwidth of main memory of any kind" in reply.text
    assert "let the user run `kb probe --target TARGET`" in reply.text
