#!/usr/bin/env bash
# The cost of a hop as the number of tasks grows.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: sweep-tasks.sh [--to N] PROGRAM [FLAGS]

Runs a program of the workspace with 1, 2, 5, 10, 20, 50 … tasks until a limit
of the machine refuses or --to is reached, and prints tab-separated values:
the number of tasks, the mean time per operation in ns, and the number of
iterations.

  --to N     most tasks to try [default: 1000000]
  FLAGS      passed to the program; --max-time 2 unless you give another

Examples:
  scripts/sweep-tasks.sh thread-brigade --placement same-cpu
  scripts/sweep-tasks.sh --to 1000 async-mem-brigade --max-time 0.5

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit refused the first count,
130 interrupted.
USAGE
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

to=1000000 program='' flags=(--max-time 2)
while (($# > 0)); do
    case $1 in
        --to) require_count "$1" "${2-}" && to=$2 && shift ;;
        --help | -h) usage && exit ;;
        --tasks* | --threads* | --json | --quiet) bad_usage "$1: this script sets it itself" ;;
        --max-time) require_value "$@" && flags[1]=$2 && shift ;;
        --max-time=*) flags[1]=${1#*=} ;;
        *) if [[ -z $program ]]; then program=$1; else flags+=("$1"); fi ;;
    esac
    shift
done
[[ -n $program ]] || bad_usage "no program named"
[[ $program =~ ^[a-z-]+$ && -f $workspace/$program/src/lib.rs ]] ||
    bad_usage "'$program' is not a program of this workspace"
build_programs "$program"
for ((scale = 1; scale <= to; scale *= 10)); do
    for count in "$scale" $((2 * scale)) $((5 * scale)); do
        ((count <= to)) || break
        status=0
        record=$("$(program_path "$program")" "${flags[@]}" --tasks "$count" --quiet --json) || status=$?
        if ((status == REFUSED && count > 1)); then
            printf '%s: %s tasks are more than fit here\n' "${0##*/}" "$count" >&2
            exit
        fi
        ((status == 0)) || exit "$status"
        operation=$(first_value operation "$record")
        ((count > 1)) || printf 'tasks\tns_per_%s\titerations\n' "${operation// /_}"
        printf '%s\t%.1f\t%s\n' "$count" "$(first_value ns_per_operation "$record")" \
            "$(first_value iterations "$record")"
    done
done
