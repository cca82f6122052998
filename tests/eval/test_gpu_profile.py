"""A profile explains a time: it is read from the profiler's report, and a profiled candidate can open no socket."""

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from eval.devices import gpu_profile
from eval.devices.device import Setup, Verdict
from eval.devices.gpu import Gpu
from eval.devices.gpu_profile import MOST_LAUNCHES, parsed, profile
from eval.languages.registry import TORCH
from eval.supervisor.device_memory import DeviceMemory
from eval.supervisor.launch import PACKAGE
from eval.supervisor.trial import Trial
from kb.errors import JudgeError
from kb.types.evidence import Bottleneck, Session, Timing
from kb.types.kernels import Candidate, Interface, Task
from kb.types.profiler import METRICS, KernelProfile, Profile
from kb.types.target import Isa
from tests.eval import fake_recording_gpu
from tests.eval.confined import make_place
from tests.eval.fake_gpu import FakeDriver
from tests.eval.judging import given_case, needs_linux, needs_sandbox, reference

pytestmark = needs_linux
DURATION, WARPS, LONG, BARRIER = (
    "gpu__time_duration.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct",
    "smsp__warp_issue_stalled_barrier_per_warp_active.pct",
)
REPORT = f"""\
==PROF== Connected to process 7 (python)
"ID","Kernel Name","Device","{DURATION}","{WARPS}","{LONG}","{BARRIER}"
"","","","ns","%","%","%"
"0","first","0","2,000.00","50.5","70","1e1"
"1","second(float *, long)","0","9,000","25","10","60"
"2","first","0","1,500","49","n/a",""
==PROF== Disconnected from process 7
"""
HONEST = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return 2 * x + 1\n"
PROFILER = """\
#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
report=$2
shift 2
"$@" || exit
cat {report} > "$report"
"""
RECORDING = TORCH.model_copy(update={"adapter": Path(fake_recording_gpu.__file__)})
CONNECTS = """
import socket, sys, threading
sys.path.insert(0, sys.argv[1])
from eval.worker.sandbox import refuse_sockets
socket.socket(socket.AF_UNIX).close()
refused = threading.Event()

def connect():
    try:
        socket.socket(socket.AF_UNIX)
    except PermissionError:
        print("refused")

def other():
    refused.wait()
    connect()

thread = threading.Thread(target=other)
thread.start()
refuse_sockets()
refused.set()
thread.join()
connect()
"""


def test_the_launches_of_a_kernel_are_taken_together_and_the_longest_is_described() -> None:
    found = parsed(REPORT.splitlines())

    assert found.kernels == (
        KernelProfile(
            kernel="second(float *, long)",
            launches=1,
            microseconds=9.0,
            metrics={DURATION: 9000.0, WARPS: 25.0, LONG: 10.0, BARRIER: 60.0},
        ),
        KernelProfile(
            kernel="first",
            launches=2,
            microseconds=3.5,
            metrics={DURATION: 2000.0, WARPS: 50.5, LONG: 70.0, BARRIER: 10.0},
        ),
    )
    assert (found.launches, found.microseconds) == (3, 12.5)
    assert found.missing == tuple(name for name in METRICS if name not in (DURATION, WARPS, LONG, BARRIER))


def test_a_kernel_is_described_in_words() -> None:
    assert list(map(str, parsed(REPORT.splitlines()).kernels)) == [
        "kernel second(float *, long): 9.0 us; 25 % of the most possible warps active, "
        "warps wait at barriers 60 % of the time",
        "kernel first: 3.5 us, 2 launches; 50 % of the most possible warps active, "
        "warps wait for global or local memory 70 % of the time",
    ]


def test_rows_that_are_cut_are_left_out() -> None:
    assert parsed([*REPORT.splitlines(), "", '"3","cut"']) == parsed(REPORT.splitlines())


@pytest.mark.parametrize("lines", ["", "==ERROR== no permission\n", '"ID","Kernel Name"\n"",""\n'])
def test_a_report_without_kernels_is_no_profile(lines: str) -> None:
    with pytest.raises(ValueError, match="no kernels"):
        parsed(lines.splitlines())


@pytest.fixture
def trial() -> Trial:
    memory = DeviceMemory(FakeDriver())  # type: ignore[arg-type]
    return Trial(Candidate(language="torch", source=HONEST), language=RECORDING, level=0, call_s=60.0, memory=memory)


def play(report: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profiler that runs what it is given and writes this report."""
    program, said = folder / "ncu", folder / "said"
    said.write_text(report)
    program.write_text(PROFILER.format(report=said))
    program.chmod(0o755)
    monkeypatch.setattr(gpu_profile, "profiler", lambda: str(program))


def reported(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profiler that writes this report, and runs nothing."""
    monkeypatch.setattr(gpu_profile, "profiler", lambda: "ncu")
    monkeypatch.setattr(gpu_profile, "_run", lambda trial, *_: Path(trial.profiler[-1]).write_text(text))


def test_a_candidate_is_called_under_the_profiler(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(REPORT, tmp_path, monkeypatch)

    assert profile(trial, reference("scale"), given_case("scale")) == parsed(REPORT.splitlines())


def test_without_numbers_the_profiler_s_own_words_are_told(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    reported("==ERROR== ERR_NVGPUCTRPERM - no permission\n", monkeypatch)

    with pytest.raises(JudgeError, match="nothing was profiled") as error:
        profile(trial, reference("scale"), given_case("scale"))
    assert error.value.hint == "ERROR== ERR_NVGPUCTRPERM - no permission"


def test_a_candidate_that_fails_then_has_no_profile(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(REPORT, tmp_path, monkeypatch)
    failing = HONEST.replace("return", "raise ValueError('late')\n        return")

    with pytest.raises(JudgeError, match=r"it fails while it is profiled: .*late"):
        profile(
            Trial(
                Candidate(language="torch", source=failing),
                language=RECORDING,
                level=0,
                call_s=60.0,
                memory=trial.memory,
            ),
            reference("scale"),
            given_case("scale"),
        )


@pytest.mark.parametrize("report", [REPORT.replace("first", "x" * (1 << 18)), REPORT.replace('"first"', "\0")])
def test_a_report_that_is_no_csv_loses_the_profile_alone(
    report: str, trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported(report, monkeypatch)

    with suppress(JudgeError):
        assert profile(trial, reference("scale"), given_case("scale")).launches == 3


def test_without_a_profiler_the_reason_is_told(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_profile, "profiler", lambda: None)

    with pytest.raises(JudgeError, match="no `ncu`"):
        profile(trial, reference("scale"), given_case("scale"))


@needs_sandbox
def test_sockets_are_there_for_the_profiler_alone(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    script = place.folder / "connects.py"
    script.write_text(CONNECTS)
    command = (place.python, "-I", str(script), str(PACKAGE.parent))

    assert place.run(*command, level=2, profiled=True).stdout == "refused\nrefused\n"
    assert "PermissionError" in place.run(*command, level=2).stderr


def judged(monkeypatch: pytest.MonkeyPatch, found: Profile | JudgeError) -> Verdict:
    """The judgement on a candidate of 100 us that is latency-bound, with a profile."""

    def profiled(*_: object) -> Profile:
        if isinstance(found, JudgeError):
            raise found
        return found

    monkeypatch.setattr(gpu_profile, "profile", profiled)
    interface = Interface(inputs=(), state=(), outputs=(), init=())
    task = Task(name="plain", source="class Model: pass\n")
    device = Gpu(Setup(task, None, interface, "this-gpu", Isa("cuda", "90", 32), [], 0, 1.0, profile=True))  # type: ignore[arg-type]
    vars(device)["baselines"] = SimpleNamespace(case=None)
    session = Session(baseline_us=(99.0,), candidate_us=(100.0,), inside_us=(100.0,), speedup=0.99, low=0.98, high=1.0)
    limit = Bottleneck(kind="latency", memory=0.1, compute=0.1, citations=())
    timing = Timing(baseline="eager", baselines_us={"eager": 99.0}, sessions=(session,))
    trial = Trial(Candidate(language="torch", source=""), language=TORCH, level=0)
    return device._profiled(Verdict(timing=timing, bottleneck=limit, detail="right"), trial, timing)


@pytest.mark.parametrize(
    ("microseconds", "launches", "kind"), [(40.0, 3, "launch"), (60.0, 3, "latency"), (40.0, MOST_LAUNCHES, "latency")]
)
def test_a_call_whose_kernels_take_less_than_half_of_it_is_launch_bound(
    microseconds: float, launches: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = {"microseconds": microseconds, "launches": launches}
    found = parsed(REPORT.splitlines()).model_copy(update=update)

    judgement = judged(monkeypatch, found)

    assert judgement.profile == found
    assert judgement.bottleneck
    assert judgement.bottleneck.kind == kind


def test_a_candidate_passes_without_its_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    judgement = judged(monkeypatch, JudgeError("there is no `ncu` on the path", hint="install it"))

    assert judgement.profile is None
    assert judgement.detail == "right; there is no `ncu` on the path (install it)"
