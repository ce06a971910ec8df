#!/usr/bin/env bash
# What a hand-over costs between each pair of CPUs.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: core-to-core.sh [--via spin|futex] [--cpus LIST] [--rounds N]

Two threads, each on one CPU of a pair, hand over a token. Every round measures
all pairs in random order. Prints the median over the rounds, in ns for each
hand-over, as a table of CPUs by CPUs: CPUs that share a cache take less.

  --via HOW    how they hand over: spin, in memory, or futex, which wakes the
               other CPU [default: spin]
  --cpus LIST  such as 0-3,8 [default: all that this process may use]
  --rounds N   measurements of each pair [default: 5]

Examples:
  scripts/core-to-core.sh
  scripts/core-to-core.sh --via futex --cpus 0-7 --rounds 3

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit refused, 130 interrupted.
USAGE
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

via=spin list=all rounds=5
while (($# > 0)); do
    case $1 in
        --via) [[ ${2-} =~ ^(spin|futex)$ ]] || bad_usage "--via: '${2-}' is not spin or futex" ;;&
        --cpus) [[ ${2-} ]] || bad_usage "--cpus needs a list of CPUs" ;;&
        --rounds) require_count "$1" "${2-}" ;;&
        --via) via=$2 && shift 2 ;;
        --cpus) list=$2 && shift 2 ;;
        --rounds) rounds=$2 && shift 2 ;;
        --help | -h) usage && exit ;;
        *) bad_usage "'$1' is not a flag of this script" ;;
    esac
done
listed=$(cpus_in "$list") || exit
mapfile -t cpus < <(sort -nu <<<"$listed")
((${#cpus[@]} >= 2)) || bad_usage "a pair needs two CPUs"
build_programs thread-switch
pairs=()
for ((i = 0; i < ${#cpus[@]}; i++)); do
    for ((j = i + 1; j < ${#cpus[@]}; j++)); do pairs+=("${cpus[i]},${cpus[j]}"); done
done
declare -A figures=()
for ((round = 1; round <= rounds; round++)); do
    for pair in $(shuf --echo -- "${pairs[@]}"); do
        record=$("$(program_path thread-switch)" --via "$via" --placement spread --cpus "$pair" \
            --max-time 0.05 --quiet --json) || exit
        ns=$(first_value ns_per_operation "$record")
        figures[$pair]+="$ns"$'\n' figures[${pair#*,},${pair%,*}]+="$ns"$'\n'
    done
done
printf 'cpu' && printf '\t%s' "${cpus[@]}" && printf '\n'
for row in "${cpus[@]}"; do
    printf '%s' "$row"
    for column in "${cpus[@]}"; do
        if ((row == column)); then printf '\t-'; else
            printf '\t%.0f' "$(median <<<"${figures[$row,$column]}")"
        fi
    done
    printf '\n'
done
