"""What decides on a candidate for a target: the device that judges it, its software, its baselines and the roof."""

from collections.abc import Sequence

from eval.clock.baseline_sources import SOURCES, compiles, gpu_sources
from eval.devices.registry import device_of
from eval.languages.toolchain import ToolchainLanguage
from eval.machine import accelerators, processor_in_full, versions
from eval.roofline import Ceiling, task_roofline
from kb.errors import JudgeError, TargetError
from kb.types.evidence import Evidence, Grade
from kb.types.fact import Fact
from kb.types.kernels import Interface, Language, Task
from kb.types.protocols import RecalledSkill
from kb.types.target import Isa
from kb.types.terms import Best, Judged, Terms
from kb.usecases.home import Home


def terms_of(
    home: Home,
    task: Task,
    interface: Interface,
    target: str,
    language: Language,
    facts: Sequence[Fact],
    skills: Sequence[RecalledSkill],
    *,
    device: str | None = None,
) -> Terms:
    """The terms for candidates in a language.

    Args:
        skills: Those whose evidence may have times for the task.
        device: The chip on which the candidates will be judged, on whatever machine (default: as on this machine).

    Raises:
        TargetError: `device` is unknown, or kernels for the target do not run there.
    """
    isa = home.targets.isa(target)
    judged = _judged(home, target, isa, language) if device is None else _on(home, target, isa, device)
    here = device is None and judged in ("gpu", "cpu")
    names = accelerators() if judged == "gpu" else [processor_in_full()]
    return Terms(
        judged=judged,
        device=next(iter(names), "") if here else "",
        versions=_versions(home, target, language) if device is None else {},
        baselines=tuple(_baselines(task, interface, judged)),
        known=tuple(_known(task, target, skills)),
        roof=tuple(map(_bound, task_roofline(interface, facts).ceilings)),
    )


def _judged(home: Home, target: str, isa: Isa | None, language: Language) -> Judged:
    """How a candidate would be judged on this machine."""
    try:
        judge = home.toolchains.judges(target).get(language.name)
    except JudgeError:
        return "nowhere"
    if isinstance(judge, ToolchainLanguage):
        return "simulator" if judge.toolchain.grade is Grade.SIMULATED else "built"
    device = device_of(isa)
    if device is None or judge is None:
        return "nowhere"
    if not device.is_timing:
        return "screen"
    return "cpu" if device.tensors == "cpu" else "gpu"


def _on(home: Home, target: str, isa: Isa | None, device: str) -> Judged:
    own = home.targets.isa(device)
    if own is None or isa is None or (own.backend, own.architecture) != (isa.backend, isa.architecture):
        raise TargetError(
            f"kernels for {target} do not run on {device}",
            hint=f"name a chip that has the instructions of {target}: {isa or 'kb knows no compiler for it'}",
        )
    return "cpu" if own.is_cpu else "gpu"


def _versions(home: Home, target: str, language: Language) -> dict[str, str]:
    try:
        judge = home.toolchains.judges(target).get(language.name)
    except JudgeError:
        return {}
    own = judge.versions() if judge else {}
    return {"torch": versions()["torch"], **own} if "torch" in versions() else own


def _baselines(task: Task, interface: Interface, judged: Judged) -> list[str]:
    sources = gpu_sources(task, interface) if judged == "gpu" else SOURCES if judged == "cpu" else {}
    return [name for name, source in sources.items() if compiles() or "torch.compile" not in source]


def _known(task: Task, target: str, skills: Sequence[RecalledSkill]) -> list[Best]:
    """The fastest baseline and the fastest kernel in evidence on the same task and target."""
    own: list[Evidence] = [
        evidence
        for recalled in skills
        for evidence in recalled.skill.evidence
        if evidence.task_digest == task.digest and evidence.target == target and evidence.speedup
    ]
    best = min(own, key=lambda evidence: evidence.time_us, default=None)
    if best is None or best.timing is None:
        return []
    baseline = f"the fastest baseline, {best.timing.baseline},"
    return [Best(what=baseline, time_us=best.timing.baseline_us), Best(what="the best kernel", time_us=best.time_us)]


def _bound(ceiling: Ceiling) -> str:
    """The bound with the name of its rate, the citation and the exception."""
    named = str(ceiling).replace(" at ", f" at {ceiling.fact.quantity.replace('_', ' ')} ", 1)
    cached = ", unless its data stays in a cache" if ceiling.what == "memory" else ""
    return f"{named} [{ceiling.fact.citation.id}]{cached}"
