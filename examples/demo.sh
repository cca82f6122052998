#!/usr/bin/env bash
# kb on the sheets that ship with it and, with DOCS=folder, on a folder of yours. Writes only to a temporary home.
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
    run search "${Q:-how large is the on-chip memory of one core?}" --budget 800 || true
fi
run search "LDS size per compute unit" --target mi300x --budget 150
run search "LDS size per compute unit" --target mi355x --budget 150
run search "which row stride makes a GEMM slow?" --also "leading dimension channels collide" \
    --target mi300x --budget 500
run facts h200 peak_flops
printf '\nA citation opens the place it names:\n'
id=$("$BIN/kb" facts mi300x lds_size --json | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' | head -n 1)
run cite "$id"
printf '\nWhat no document states is refused, never guessed:\n'
run facts h200 tensor_memory_size || true
