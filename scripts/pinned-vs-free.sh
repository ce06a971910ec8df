#!/usr/bin/env bash
# Compares a hop on CPUs that the kernel chooses with one on a single CPU.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: pinned-vs-free.sh [--rounds N] [FLAGS]

Runs thread-brigade and async-brigade in turn, each free and pinned to the
first allowed CPU with taskset. Every round runs all four; the arm that comes
first alternates. Prints the time per hop of each run in ns as tab-separated
values, then the medians and their ratio.

  --rounds N   runs of each arm [default: 5]
  --help       show this
  FLAGS        passed to both programs; --max-time 2 unless you give another

Examples:
  scripts/pinned-vs-free.sh
  scripts/pinned-vs-free.sh --rounds 9 --tasks 50 --max-time 0.5

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit refused, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

readonly PROGRAMS=(thread-brigade async-brigade)

# read_arguments ARGUMENTS...: sets rounds and flags.
read_arguments() {
    rounds=5 flags=()
    local max_time=(--max-time 2)
    while (($# > 0)); do
        case $1 in
            --rounds) require_count "$1" "${2-}" && rounds=$2 && shift ;;
            --help | -h) usage && exit ;;
            --json | --quiet) bad_usage "$1: this script sets it itself" ;;
            --max-time*) max_time=() && flags+=("$1") ;;
            *) flags+=("$1") ;;
        esac
        shift
    done
    flags=("${max_time[@]}" "${flags[@]}")
}

# first_allowed_cpu: the lowest number in this process's affinity mask.
first_allowed_cpu() {
    awk '/^Cpus_allowed_list:/ { split($2, cpus, /[-,]/); print cpus[1] }' /proc/self/status
}

# measure ROUND PROGRAM ARM: runs it, prints the row, keeps the figure.
measure() {
    local command=() record ns
    [[ $3 == free ]] || command=(taskset --cpu-list "$cpu")
    command+=("$(program_path "$2")" "${flags[@]}" --quiet --json)
    record=$("${command[@]}") || exit
    ns=$(first_value ns_per_operation "$record")
    printf -v ns '%.1f' "$ns"
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$ns"
    figures[$2 $3]+="$ns"$'\n'
}

# median NUMBERS: of numbers, one per line.
median() {
    sort -g <<<"${1%$'\n'}" | awk '
        { value[NR] = $1 }
        END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }
    '
}

# summarize PROGRAM: prints the medians and the ratio free / pinned.
summarize() {
    local free pinned
    free=$(median "${figures[$1 free]}")
    pinned=$(median "${figures[$1 pinned]}")
    awk -v program="$1" -v free="$free" -v pinned="$pinned" 'BEGIN {
        ratio = pinned > 0 ? sprintf("%.2f", free / pinned) : "undefined"
        printf "# %s: median %.0f ns free, %.0f ns pinned, free / pinned %s\n",
            program, free, pinned, ratio
    }'
}

read_arguments "$@"
require_tool taskset "the package util-linux"
build_programs "${PROGRAMS[@]}"
cpu=$(first_allowed_cpu)
declare -A figures=()
printf 'round\tprogram\tplacement\tns_per_hop\n'
for ((round = 1; round <= rounds; round++)); do
    arms=(free pinned)
    ((round % 2)) || arms=(pinned free)
    for arm in "${arms[@]}"; do
        for program in "${PROGRAMS[@]}"; do
            measure "$round" "$program" "$arm"
        done
    done
done
for program in "${PROGRAMS[@]}"; do summarize "$program"; done
