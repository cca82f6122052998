#!/usr/bin/env bash
# Show kb's circle on this machine's CPU: manual, fact, prompt, a model's kernel, verdict, skill, the next run.
# DOCS=folder adds your own documents. Everything is written to build/demo, which stays until the next demo.
set -euo pipefail
export KB_HOME=$PWD/build/demo
rm -rf "$KB_HOME"

say() { printf '\n'; printf '# %s\n' "$@"; }
run() {
    printf '\n$ kb'
    for word in "$@"; do
        case $word in *[\ ,]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$BIN/kb" "$@"
}

say "A folder of a chip's manuals. Here the chip is a processor with AVX-512, and the manual a sheet that ships with kb:"
run ingest kb/hardware_docs/cpu-x86
if [ -n "${DOCS:-}" ]; then
    run ingest "$DOCS"
    run search "${Q:-how large is the on-chip memory of one core?}" --budget 3000 || true
fi
say "A fact has a source, and kb cite opens it:"
run facts cpu-x86 vector_width
id=$("$BIN/kb" facts cpu-x86 vector_width --json | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)
run cite "$id"
say "kb invents nothing:"
run facts cpu-x86 tensor_memory_size || true
run search "how to sum with many accumulators" --also "reduction latency" --target cpu-x86 --budget 400

# Judging needs Linux, and a C++ compiler for this CPU.
case $(uname -m) in x86_64) cpu=cpu-x86 ;; aarch64) cpu=arm ;; riscv64) cpu=riscv ;; *) cpu= ;; esac
if [ "$(uname -s)" != Linux ] || [ -z "$cpu" ] || ! command -v c++ >/dev/null; then
    say "Skipped: timing kernels on this CPU needs Linux and a C++ compiler (c++)."
    exit
fi
say "A prompt for a kernel holds the task, the contract, and what the manual says to the kernel's questions:"
run prompt examples/logsumexp.py --target "$cpu" --why
say "A model answers. Here its answers are recorded (examples/recorded/). kb judges each kernel, tunes those that pass," \
    "and times them against the faster of eager PyTorch and torch.compile. A win becomes a skill. The report is a page:"
run optimize examples/logsumexp.py --target "$cpu" --author recorded:examples/recorded/logsumexp --evaluations 2 || true
run report "$(ls -t "$KB_HOME/runs" | head -n 1)" --output "$KB_HOME/report.html"
say "A wrong kernel is refused, with its first wrong element. This one is of the judge's own tests, since the models' first" \
    "answers to 16 tasks for this CPU were all right. It takes the variance as a difference, which loses its digits:"
run verify eval/selftest/tasks/layernorm.py eval/selftest/wrong/naive_variance.cpp --target "$cpu" || true
learnt=$(find "$KB_HOME/skills" -mindepth 1 -maxdepth 1 -name 'logsumexp-*' -printf '%f\n' 2>/dev/null | head -n 1) || true
if [ -z "$learnt" ]; then
    say "No kernel won this time, so kb wrote no skill."
    exit
fi
run skills show "$learnt"
say "The next task is for longer rows. Without the skill kb has nothing to start from:"
run optimize examples/logsumexp_long.py --target "$cpu" --author none --control || true
say "With it, kb starts from the kernel that won:"
run optimize examples/logsumexp_long.py --target "$cpu" --author none --evaluations 2 || true
