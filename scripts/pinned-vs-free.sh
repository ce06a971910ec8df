#!/usr/bin/env bash
# Compares a hop on CPUs that the kernel chooses with one on a single CPU.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: pinned-vs-free.sh [--rounds N] [FLAGS]

Runs thread-brigade and async-brigade in turn, each free and pinned to the first
allowed CPU with taskset. Every round runs all four; the arm that comes first
alternates. Prints the time per hop of each run in ns as tab-separated values,
then the medians and their ratio.

  --rounds N   runs of each arm [default: 5]
  FLAGS        passed to both programs; --max-time 2 unless you give another

Examples:
  scripts/pinned-vs-free.sh
  scripts/pinned-vs-free.sh --rounds 9 --tasks 50 --max-time 0.5

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit refused, 130 interrupted.
USAGE
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

readonly PROGRAMS=(thread-brigade async-brigade)

# measure PROGRAM ARM: prints the time of a hop.
measure() {
    local command=() record
    [[ $2 == free ]] || command=(taskset --cpu-list "$cpu")
    record=$("${command[@]}" "$(program_path "$1")" "${flags[@]}" --quiet --json) || exit
    printf '%.1f' "$(first_value ns_per_operation "$record")"
}

rounds=5 flags=(--max-time 2)
while (($# > 0)); do
    case $1 in
        --rounds) require_count "$1" "${2-}" && rounds=$2 && shift ;;
        --help | -h) usage && exit ;;
        --json | --quiet) bad_usage "$1: this script sets it itself" ;;
        --max-time) require_value "$@" && flags[1]=$2 && shift ;;
        --max-time=*) flags[1]=${1#*=} ;;
        *) flags+=("$1") ;;
    esac
    shift
done
require_tool taskset "the package util-linux"
build_programs "${PROGRAMS[@]}"
cpu=$(cpus_in all | head -n 1)
declare -A figures=()
printf 'round\tprogram\tplacement\tns_per_hop\n'
for ((round = 1; round <= rounds; round++)); do
    arms=(free pinned)
    ((round % 2)) || arms=(pinned free)
    for arm in "${arms[@]}"; do
        for program in "${PROGRAMS[@]}"; do
            ns=$(measure "$program" "$arm") || exit
            printf '%s\t%s\t%s\t%s\n' "$round" "$program" "$arm" "$ns"
            figures[$program $arm]+="$ns"$'\n'
        done
    done
done
for program in "${PROGRAMS[@]}"; do
    all_free=${figures[$program free]} all_pinned=${figures[$program pinned]}
    # Of each round, so that what slows a whole round cancels.
    ratio=$(paste <(printf %s "$all_free") <(printf %s "$all_pinned") |
        awk '$2 > 0 { print $1 / $2 }' | median)
    awk -v program="$program" -v free="$(median <<<"$all_free")" \
        -v pinned="$(median <<<"$all_pinned")" -v ratio="$ratio" 'BEGIN {
        printf "# %s: median %.0f ns free, %.0f ns pinned, free / pinned %s\n",
            program, free, pinned, (ratio > 0 ? sprintf("%.2f", ratio) : "undefined")
    }'
done
