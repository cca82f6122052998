"""Python that uses torch alone."""

from pathlib import Path

from eval.worker.language import JudgedLanguage

MODEL_NEW = """\
- Define `class ModelNew(torch.nn.Module)`. It is built as `ModelNew(*get_init_inputs())`, so its constructor takes what
  `Model`'s takes, and called as `forward(*inputs)` with the arguments of `Model.forward`.
- Parameters: either its `state_dict` has the names and shapes listed above (it is loaded strictly), or it defines
  `load_reference(self, state)`, which is given them as a dict of name to tensor, once, untimed.
- Return fresh tensors of the listed number, order and dtype: never an input, a view of one, or a tensor kept from an
  earlier call. Change no input.
- Allocate on the device of the inputs, as `torch.empty_like(x)` or `x.new_empty(...)` do; name no device.
- Sizes vary between builds: take them from the tensors."""
"""The rules of every language in which a candidate is a Python class."""

RULES = f"""\
Write one Python file that uses `torch` alone; `torch.utils.cpp_extension.load_inline` is part of it.
{MODEL_NEW}"""


class Torch(JudgedLanguage):
    """Python that defines `ModelNew` with torch alone; `load_inline` included."""

    name: str = "torch"
    suffix: str = ".py"
    fences: tuple[str, ...] = ("python", "py")
    rules: str = RULES
    tunable: str = "BLOCK = 1024  # tune: 256, 512, 1024"
    adapter: Path = Path(__file__).with_name("python_model.py")
