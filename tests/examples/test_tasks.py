"""The example tasks: well-formed, of any size, in float64 and without data, and not to be passed by doing nothing."""

import inspect
from collections.abc import Callable

import pytest

from tests.examples.tasks import EXAMPLES, SIZES, constants, draw, load

TASKS = [path.stem for path in EXAMPLES]
CASES = [pytest.param(task, sizes, id=f"{task}-{i}") for task in TASKS for i, sizes in enumerate(SIZES[task])]


def test_every_task_is_tried_at_sizes_of_its_own():
    assert set(TASKS) == set(SIZES)
    for task, cases in SIZES.items():
        assert all(set(sizes) == constants(task) for sizes in cases), task


@pytest.mark.parametrize(("task", "sizes"), CASES)
def test_a_task_runs_at_any_size_in_float32_and_float64(task: str, sizes: dict[str, int]):
    import torch

    model, inputs, wanted = draw(load(task, sizes))

    with torch.no_grad():
        got = model(*inputs)

    assert (got.dtype, wanted.dtype, got.shape) == (torch.float32, torch.float64, wanted.shape)
    assert wanted.isfinite().all()
    torch.testing.assert_close(got.double(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_tells_its_shapes_without_data(task: str):
    import torch

    module = load(task, SIZES[task][1])

    with torch.device("meta"):
        out = module.Model(*module.get_init_inputs())(*module.get_inputs())

    assert (out.device.type, out.shape) == ("meta", draw(module)[2].shape)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "guess",
    [
        lambda wanted, _: wanted.zero_(),
        lambda wanted, _: wanted.fill_(wanted.mean()),
        lambda wanted, inputs: inputs[0].double() if inputs[0].shape == wanted.shape else wanted.zero_(),
        lambda wanted, _: wanted.roll(1, 0),
    ],
    ids=["zeros", "mean", "identity", "other rows"],
)
def test_a_lazy_answer_is_far_off(task: str, guess: Callable):
    _, inputs, wanted = draw(load(task, SIZES[task][2]))

    error = (guess(wanted.clone(), inputs) - wanted).abs().max()

    assert error > 0.05 * wanted.abs().max()


@pytest.mark.parametrize("task", TASKS)
def test_parameters_are_drawn_and_taken_by_name_alone(task: str):
    module = load(task, SIZES[task][2])
    model = draw(module)[0]

    for name, tensor in model.state_dict().items():
        assert tensor.double().std() > 0, f"{name} is the same everywhere"
    assert all(isinstance(value, int | float) for value in module.get_init_inputs())
    assert len(inspect.signature(type(model).forward).parameters) == len(module.get_inputs()) + 1
