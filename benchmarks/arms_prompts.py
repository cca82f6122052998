"""Give each prompt to one author, though several runs wait for its answer: arms that do not differ yet are paired.

kb campaign search-arms-cpu.toml &                                   # writes a prompt for each run, and waits
python -m benchmarks.arms_prompts out answers PROMPTS                # each different prompt once, and map.json
python -m benchmarks.arms_prompts in answers PROMPTS GIVEN           # GIVEN/NAME.md answers PROMPTS/NAME.md

`answers` is the folder of the author `files:answers`. The tokens of a prompt and its answer count in each run.
"""

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

MAP = "map.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=["out", "in"])
    parser.add_argument("answers", type=Path)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("given", type=Path, nargs="?")
    options = parser.parse_args()
    if options.step == "out":
        print(f"{len(write_out(options.answers, options.prompts))} different prompts")
        return 0
    missing = hand_in(options.answers, options.prompts, options.given)
    print("\n".join(["not answered:", *missing] if missing else ["all are answered"]))
    return int(bool(missing))


def write_out(answers: Path, prompts: Path) -> dict[str, list[str]]:
    """The prompts that have no answer, each once under a name that tells no arm; by name the answers that they want."""
    names, named = dict[bytes, str](), dict[str, list[str]]()
    prompts.mkdir(parents=True, exist_ok=True)
    for file in sorted(answers.glob("*/*-prompt.md")):
        answer = file.with_name(file.name.replace("prompt", "answer"))
        if not answer.exists():
            text = file.read_bytes()
            digest = hashlib.sha256(text).hexdigest()[:8]
            task = re.sub(r"-\d{8}-\d{6}-\w+$", "", file.parent.name)
            name = names.setdefault(text, f"{task[:48]}-{digest}.md")
            (prompts / name).write_bytes(text)
            named.setdefault(name, []).append(str(answer.relative_to(answers)))
    (prompts / MAP).write_text(json.dumps(named, indent=1), encoding="utf-8")
    return named


def hand_in(answers: Path, prompts: Path, given: Path) -> list[str]:
    """Copy each answer to all runs that wait for it; return the names of the prompts without an answer."""
    missing = []
    for name, places in json.loads((prompts / MAP).read_text(encoding="utf-8")).items():
        if not (given / name).exists():
            missing.append(name)
            continue
        for place in places:
            whole = (answers / place).with_suffix(".new")
            whole.write_bytes((given / name).read_bytes())
            whole.replace(answers / place)
    return missing


if __name__ == "__main__":
    sys.exit(main())
