"""Run every Triton template on the CPU in Triton's interpreter, which is chosen when triton is imported: a process of
its own. Prints what went wrong by template's name, as JSON. Argument: a folder to write in."""

import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path

import torch  # noqa: TID253 - needs it at once

from tests.examples.tasks import SIZES, TEMPLATES, candidate, compare, draw, load, settings, task_of


def check(template: Path, folder: Path) -> None:
    kernel, task = candidate(template), task_of(template)
    for i, parameters in enumerate(settings(kernel)):
        # From a file, since triton asks for the kernel's source by its place.
        path = folder / f"{task}_{i}.py"
        path.write_text(kernel.with_parameters(parameters).source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for sizes in SIZES[task]:
            reference = load(task, sizes)
            model, inputs, wanted = draw(reference)
            new = module.ModelNew(*reference.get_init_inputs())
            new.load_state_dict(model.state_dict(), strict=True)
            with torch.no_grad():
                compare(new(*inputs), wanted, (sizes, parameters))


def main(folder: Path) -> None:
    assert os.environ["TRITON_INTERPRET"] == "1"
    wrong = {}
    for template in TEMPLATES:
        if candidate(template).language == "triton":
            try:
                check(template, folder)
            except Exception:  # noqa: BLE001 - the test that asked shows it
                wrong[template.name] = traceback.format_exc()
    print(json.dumps(wrong))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
