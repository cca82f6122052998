"""A GPU judges for its own architecture; its baselines fit the task; what it reports is in the session's record."""

import ctypes
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eval.clock import gpu_use, nvml
from eval.clock.baseline_sources import gpu_sources
from eval.clock.gpu_use import GpuUse
from eval.clock.memory_plan import MemoryPlan
from eval.clock.nvml import Nvml
from eval.devices import gpu
from eval.devices.device import Setup
from eval.devices.gpu import Gpu
from eval.devices.registry import device_for
from eval.devices.triton_compiler import TritonCompiler
from eval.languages.registry import TORCH
from eval.machine import Process
from eval.worker.fault import Fault
from eval.worker.gpu_driver import DriverError
from kb.errors import JudgeError
from kb.types.kernels import Candidate, Interface, Task, TensorSpec
from kb.types.target import Isa
from kb.types.timing import GpuState, Session, Timing

H200, MI300X = Isa("cuda", "90", 32), Isa("hip", "gfx942", 64)


@pytest.mark.parametrize(
    ("present", "device"),
    [
        (Isa("cuda", "90"), Gpu),
        (Isa("cuda", "80"), TritonCompiler),
        (Isa("hip", "90"), TritonCompiler),
        (None, TritonCompiler),
    ],
)
def test_a_gpu_judges_only_for_its_own_architecture(present: Isa | None, device: type, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu, "present_gpu", lambda: present)

    assert device_for(H200, "h200") is device
    assert device_for(MI300X, "mi300x") is TritonCompiler


def interface(shape: tuple[int, ...], dtype: str, matrix_operations: int = 0) -> Interface:
    x = TensorSpec(name="x", shape=shape, dtype=dtype)
    return Interface(inputs=(x,), state=(), outputs=(x,), init=(), matrix_operations=matrix_operations)


PLAIN = Task(name="plain", source="class Model: pass\n")
ALWAYS = {"eager", "torch.compile", "torch.compile max-autotune"}


@pytest.mark.parametrize(
    ("given", "more"),
    [
        (interface((8, 8), "float32"), set()),
        (interface((8, 8), "float16", 9), set()),
        (interface((8, 8), "float32", 9), {f"{name}, TF32" for name in ALWAYS}),
        (interface((2, 3, 8, 8), "float16", 9), {"channels-last"}),
    ],
)
def test_the_baselines_fit_the_task(given: Interface, more: set[str]):
    assert gpu_sources(PLAIN, given).keys() == ALWAYS | more


def test_a_task_names_a_library_by_a_class():
    task = Task(name="named", source="class Model: pass\nclass Baseline(Model): pass\n")

    assert gpu_sources(task, interface((8,), "float32"))["library"] == "ModelNew = Baseline"


IMAGES = gpu_sources(PLAIN, interface((2, 3, 8, 8), "float32", 9))


@pytest.mark.parametrize("source", [source for source in IMAGES.values() if "compile" not in source])
def test_each_baseline_is_the_reference_with_its_parameters(source: str):
    import torch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convolution = torch.nn.Conv2d(3, 4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.convolution(x)

    names: dict[str, Any] = {"Model": Model, "torch": torch}
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        exec(source, names)
        given, made = Model(), names["ModelNew"]()
        load = made.load_reference if hasattr(made, "load_reference") else made.load_state_dict
        load(given.state_dict())
        x = torch.randn(2, 3, 8, 8)
        torch.testing.assert_close(made(x), given(x))
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def answers(value: int) -> Any:
    """A function of NVML that gives a number through its last argument."""

    def function(*arguments: Any) -> int:
        arguments[-1]._obj.value = value
        return 0

    return function


def utilization(_device: Any, samples: Any, count: Any, _since: Any) -> int:
    for i, (pid, time_us, percent) in enumerate([(7, 50, 99), (7, 150, 10), (7, 160, 30), (8, 170, 5)]):
        samples[i].pid, samples[i].time_us, samples[i].sm_percent = pid, time_us, percent
    count._obj.value = 4
    return 0


def running(_device: Any, count: Any, processes: Any) -> int:
    for i, (pid, size) in enumerate([(7, 512 << 20), (8, (1 << 64) - 1)]):
        processes[i].pid, processes[i].memory_bytes = pid, size
    count._obj.value = 2
    return 0


NOT_SUPPORTED, NOT_FOUND = 3, 6
LIBRARY = SimpleNamespace(
    nvmlInit_v2=lambda: 0,
    nvmlDeviceGetHandleByUUID=lambda uuid, _: 0 if uuid == b"GPU-1" else NOT_FOUND,
    nvmlDeviceGetMinorNumber=answers(3),
    nvmlDeviceGetClockInfo=answers(1980),
    nvmlDeviceGetPowerUsage=answers(129_566),
    nvmlDeviceGetTemperature=lambda *_: NOT_SUPPORTED,
    nvmlDeviceGetCurrentClocksThrottleReasons=answers(0x4 | 0x1 | 0x40),
    nvmlDeviceGetProcessUtilization=utilization,
    nvmlDeviceGetComputeRunningProcesses_v3=running,
)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml.ctypes, "CDLL", lambda _: LIBRARY)


@pytest.mark.usefixtures("library")
def test_a_reading_has_what_the_gpu_reports():
    throttled = ("software power cap", "hardware thermal slowdown")

    found = Nvml("GPU-1").reading()

    assert found == GpuState(sm_mhz=(1980, 1980), power_w=129.566, temperature_c=0, throttled=throttled)


@pytest.mark.usefixtures("library")
def test_shares_of_processes_are_the_largest_since_a_time():
    assert Nvml("GPU-1").shares(100) == {7: 0.3, 8: 0.05}


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("pid", "size"), [(7, 512 << 20), (8, 0), (9, 0)])
def test_the_memory_of_a_process_is_0_if_it_is_unknown(pid: int, size: int):
    assert Nvml("GPU-1").memory_bytes(pid) == size


@pytest.mark.usefixtures("library")
def test_a_worker_sees_only_the_gpu_that_is_judged_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("nvidiactl", "nvidia-uvm", "nvidia0", "nvidia3"):
        (tmp_path / name).touch()
    monkeypatch.setattr(gpu, "Path", lambda _dev: tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    device = Gpu(Setup(PLAIN, None, interface((8, 8), "float32"), "this-gpu", H200, [], 0, 1.0))
    vars(device).update(_nvml=Nvml("GPU-1"), _memory=None, _plan=SimpleNamespace(total=0))

    trial = device.trial(Candidate(language="torch", source=""), TORCH)

    assert sorted(Path(file).name for file in trial.devices) == ["nvidia-uvm", "nvidia3", "nvidiactl"]
    assert trial.environment["CUDA_VISIBLE_DEVICES"] == "GPU-1"


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("source", "reference", "queues"),
    [
        ("kernel[grid](x)", "class Model: pass\n", "1"),
        ("side = torch.cuda.Stream()", "class Model: pass\n", None),
        ("kernel[grid](x)", "side = torch.cuda.Stream()\n", None),
    ],
    ids=["one stream", "a candidate with streams", "a reference with streams"],
)
def test_a_worker_has_one_hardware_queue_unless_a_source_names_streams(
    source: str, reference: str, queues: str | None
) -> None:
    task = PLAIN.model_copy(update={"source": reference})
    device = Gpu(Setup(task, None, interface((8, 8), "float32"), "this-gpu", H200, [], 0, 1.0))
    vars(device).update(_nvml=Nvml("GPU-1"), _memory=None, _plan=SimpleNamespace(total=0))

    trial = device.trial(Candidate(language="torch", source=source), TORCH)

    assert trial.environment.get("CUDA_DEVICE_MAX_CONNECTIONS") == queues


@pytest.mark.usefixtures("library")
def test_a_worker_sees_all_gpus_if_none_can_be_told_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(LIBRARY, "nvmlDeviceGetMinorNumber", lambda *_: NOT_SUPPORTED)

    assert Nvml("GPU-1").minor is None


@pytest.mark.usefixtures("library")
def test_an_unknown_gpu_is_an_error():
    with pytest.raises(OSError, match="GPU-2"):
        Nvml("GPU-2")


def test_samples_have_the_size_that_the_library_expects():
    assert (ctypes.sizeof(nvml._Sample), ctypes.sizeof(nvml._Process)) == (32, 24)


class FakeNvml:
    def __init__(self) -> None:
        self.clocks = iter((1980, 1500, 1700))

    def reading(self) -> GpuState:
        clock = next(self.clocks)
        throttled = ("hardware slowdown",) if clock < 1600 else ()
        return GpuState(sm_mhz=(clock, clock), power_w=clock / 4, temperature_c=40, throttled=throttled)

    def shares(self, since_us: int) -> dict[int, float]:
        return {1: 0.5, 2: 0.25, 999: 0.75}

    def memory_bytes(self, pid: int) -> int:
        return 1000 * pid


def test_a_session_has_the_extremes_and_who_else_used_the_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu_use, "gpu_of_torch", FakeNvml)
    processes = {pid: Process(name, 0, 0, 0) for pid, name in enumerate(("ours", "other"), 1)}
    monkeypatch.setattr(gpu_use, "running_processes", lambda: processes)
    monkeypatch.setattr(gpu_use, "own_processes", lambda _: {1})
    use = GpuUse()
    use.look()
    use.look()

    share, users = use.by_others()

    assert use.gpu() == GpuState(sm_mhz=(1500, 1980), power_w=495, temperature_c=40, throttled=("hardware slowdown",))
    assert share >= 0.25
    assert users[0] == "other 25% of the GPU"
    assert use.memory_bytes(2) == 2000


def test_a_gpu_that_reports_nothing_has_no_state(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gpu_use, "gpu_of_torch", lambda: None)

    assert GpuUse().gpu() is None
    assert GpuUse().memory_bytes(1) == 0


@pytest.mark.parametrize(("candidate_us", "refused"), [(9.0, True), (11.0, False)])
def test_no_candidate_is_faster_than_a_copy_of_the_bytes_that_it_must_move(candidate_us: float, refused: bool):
    device = Gpu(Setup(PLAIN, None, interface((1000,), "float32"), "this-gpu", H200, [], 0, 1.0))
    vars(device)["_memory"] = SimpleNamespace(l2_bytes=4000, copy_s={4000: 15e-6}.__getitem__)
    session = Session(
        baseline_us=(20.0,), candidate_us=(candidate_us,), inside_us=(candidate_us,), speedup=1.0, low=1.0, high=1.0
    )
    timing = Timing(baseline="eager", baselines_us={"eager": 20.0}, sessions=(session,))

    with pytest.raises(Fault, match="to copy 4,000 bytes") if refused else nullcontext():
        assert device.timed_verdict(timing, (), "").timing is timing


@pytest.mark.parametrize("narrow", [True, False])
def test_a_full_memory_is_the_candidates_fault_unless_the_plan_is_narrow(narrow: bool):
    device = Gpu(Setup(PLAIN, None, interface((1000,), "float32"), "this-gpu", H200, [], 0, 1.0))
    vars(device)["_plan"] = SimpleNamespace(total=24 << 30, is_narrow=narrow)

    with (
        pytest.raises(JudgeError, match="does not suffice") if narrow else pytest.raises(Fault, match="too little"),
        device._memory_that_suffices(),
    ):
        raise DriverError("out of memory")


@pytest.mark.parametrize(("starts", "gib"), [(False, 24), (True, 80)])
def test_baselines_do_not_start_beside_cases_that_leave_them_no_room(
    starts: bool, gib: int, monkeypatch: pytest.MonkeyPatch
):
    weight = TensorSpec(name="weight", shape=(32768, 32768), dtype="float32")
    described = interface((128, 32768), "float32").model_copy(update={"state": (weight,)})
    device = Gpu(Setup(PLAIN, None, described, "this-gpu", H200, [], 0, 1.0))
    started = []
    vars(device).update(
        _plan=MemoryPlan.of(described, gib << 30), baselines=SimpleNamespace(start=lambda: started.append(1))
    )

    device.start()

    assert bool(started) is starts
