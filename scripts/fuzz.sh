#!/usr/bin/env bash
# Fuzzes the parsers of untrusted data, guided by coverage.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: fuzz.sh [--target NAME] [--inputs N] [--seconds S]

Builds a target of fuzz/ with libFuzzer and the compiler's coverage, then lets
it generate inputs from those in fuzz/corpus/. New inputs go to fuzz/found/,
failing ones to fuzz/artifacts/: add those to the corpus, which every test run
replays, and fix the bug.

  --target NAME  saved-run, resume, laps, manifest or histogram
                 [default: saved-run]
  --inputs N     stop after N inputs [default: 1000000]
  --seconds S    stop after S seconds, if that is sooner
  --help         show this

Examples:
  scripts/fuzz.sh
  scripts/fuzz.sh --target histogram --inputs 100000
  scripts/fuzz.sh --inputs 999999999 --seconds 3600

Exit codes: 0 nothing found, 1 found something or failed, 2 usage,
130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# The compiler flags of cargo-fuzz, as far as the stable one has them: edges,
# comparisons, and a table of reached edges.
readonly COVERAGE=(
    --cfg=fuzzing
    -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
)

# read_arguments ARGUMENTS...: sets target and limits.
read_arguments() {
    target=saved-run limits=(-runs=1000000)
    while (($# > 0)); do
        case $1 in
            --target) target=${2-} && shift ;;
            --inputs) require_count "$1" "${2-}" && limits+=("-runs=$2") && shift ;;
            --seconds) require_count "$1" "${2-}" && limits+=("-max_total_time=$2") && shift ;;
            --help | -h) usage && exit ;;
            *) bad_usage "$1: unknown flag" ;;
        esac
        shift
    done
    [[ -d $workspace/fuzz/corpus/$target && -n $target ]] ||
        bad_usage "--target: '$target' is not saved-run, resume, laps, manifest or histogram"
}

read_arguments "$@"
require_tool cargo "Rust, from https://rustup.rs"
require_tool c++ g++
cd -- "$workspace/fuzz"
# With --target, build scripts and macros are not compiled for coverage.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="${COVERAGE[*]}" cargo build --locked --release --quiet --target "$host" --bin "$target" ||
    fail "$FAILED" "building the target $target failed; cargo says why above"

mkdir -p "found/$target" artifacts
status=0
"${CARGO_TARGET_DIR:-target}/$host/release/$target" "${limits[@]}" -max_len=16384 -timeout=10 \
    -rss_limit_mb=1024 -artifact_prefix=artifacts/ -print_final_stats=1 -verbosity=0 \
    "found/$target" "corpus/$target" || status=$?
((status == 0)) || fail "$FAILED" "found something, or was ended: see fuzz/artifacts and above"
