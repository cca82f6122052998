#!/usr/bin/env bash
# Show kb on the sheets that ship with it and, with DOCS=folder, on your own documents. Writes only to a temporary home.
set -euo pipefail
KB_HOME=$(mktemp -d)
export KB_HOME
trap 'rm -rf "$KB_HOME"' EXIT

run() {
    printf '\n$ kb'
    for word in "$@"; do
        case $word in *[\ ,]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$BIN/kb" "$@"
}

run ingest kb/hardware_docs
if [ -n "${DOCS:-}" ]; then
    run ingest "$DOCS"
    run search "${Q:-how large is the on-chip memory of one core?}" --budget 3000 || true
fi
run search "LDS size per compute unit" --target mi300x --budget 300
run search "LDS size per compute unit" --target mi355x --budget 300
run search "which row stride makes a GEMM slow?" --also "leading dimension channels collide" \
    --target mi300x --budget 1000
run facts h200 peak_flops --dtype float16
printf '\nkb cite opens the place that a citation names:\n'
id=$("$BIN/kb" facts mi300x lds_size --json | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)
run cite "$id"
printf '\nkb refuses what no document states; it never guesses:\n'
run facts h200 tensor_memory_size || true

# Kernels: timing needs Linux and a C++ compiler; screening needs Triton, which runs only on Linux.
case $(uname -m) in x86_64) cpu=cpu-x86 ;; aarch64) cpu=arm ;; riscv64) cpu=riscv ;; *) cpu= ;; esac
if [ "$(uname -s)" != Linux ]; then
    printf '\nSkipped: judging kernels needs Linux.\n'
    exit
fi
printf '\nA kernel for a chip that this machine lacks: run in an interpreter, compiled, compared with cited limits:\n'
run roofline examples/softmax.py --target mi300x
run verify examples/softmax.py kb/skills/softmax-triton/scripts/kernel.py --target mi300x
if [ -z "$cpu" ] || ! command -v c++ >/dev/null; then
    printf '\nSkipped: timing kernels on this CPU needs a C++ compiler (c++).\n'
    exit
fi
printf '\nA model writes a kernel for this CPU (here its answers are recorded), kb tunes it, and times it against the faster\n'
printf 'of eager PyTorch and torch.compile. A win becomes a skill:\n'
run optimize examples/logsumexp.py --target "$cpu" --author recorded:examples/recorded/logsumexp --evaluations 2 || true
learnt=$(find "$KB_HOME/skills" -mindepth 1 -maxdepth 1 -name 'logsumexp-*' -printf '%f\n' 2>/dev/null | head -n 1) || true
if [ -z "$learnt" ]; then
    printf 'No kernel won this time, so no skill was written.\n'
    exit
fi
run skills show "$learnt"
printf '\nThe next run, for longer rows, starts from that skill. Without it kb has nothing to start from:\n'
run optimize examples/logsumexp_long.py --target "$cpu" --author none --control || true
run optimize examples/logsumexp_long.py --target "$cpu" --author none --evaluations 2 || true
