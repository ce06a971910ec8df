# Functions of the scripts in this folder, to measure with the workspace's
# programs. Sourced, not run; the sourcing script defines usage().
# shellcheck shell=bash

# Decimal points in any locale.
export LC_ALL=C

workspace=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
readonly workspace

trap 'exit 130' INT

# Exit codes, as the programs use them.
readonly FAILED=1 USAGE=2 REFUSED=3

# fail CODE MESSAGE: ends the script with one line on standard error.
fail() {
    printf '%s: %s\n' "${0##*/}" "$2" >&2
    exit "$1"
}

# bad_usage MESSAGE: as fail, with a pointer to --help.
bad_usage() {
    fail "$USAGE" "$1; see ${0##*/} --help"
}

# require_count FLAG VALUE: ends the script unless VALUE is a count.
require_count() {
    [[ ${2-} =~ ^[1-9][0-9]{0,8}$ ]] ||
        bad_usage "$1: '${2-}' is not a whole number from 1 to 999999999"
}

# require_value FLAG VALUE...: ends the script unless a value follows the flag.
require_value() {
    (($# > 1)) || bad_usage "$1: a value must follow it"
}

# require_tool TOOL PACKAGES: ends the script unless TOOL is installed.
require_tool() {
    command -v "$1" >/dev/null || fail "$FAILED" "$1 is not installed; it is in $2"
}

# executables COMMAND...: runs a `cargo build` and prints the path of each program that it made or
# found up to date, wherever cargo's settings put it.
executables() {
    "$@" --message-format json-render-diagnostics | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

# build_programs NAME...: builds the workspace's programs in release mode, for program_path.
build_programs() {
    require_tool cargo "Rust, from https://rustup.rs"
    local name binaries=()
    for name; do binaries+=(--bin "$name"); done
    # From inside the workspace, where its toolchain file applies. The tests' library would add
    # features to dependencies that the other commands build without, and build them again.
    binaries=(--workspace --exclude contract "${binaries[@]}")
    built=$(cd -- "$workspace" && executables cargo build --locked --release --quiet "${binaries[@]}") ||
        fail "$FAILED" "building $* failed; cargo says why above"
    for name; do
        program_path "$name" >/dev/null || fail "$FAILED" "cargo names no file of $name"
    done
}

# program_path NAME: where build_programs put a program.
program_path() {
    grep -m 1 "/$1\$" <<<"$built"
}

# processes LOCK: the ids of the processes whose environment has that lock's name, whatever their
# parents are now.
processes() {
    grep --files-with-matches --null-data --line-regexp --fixed-strings \
        "BRIGADE_LOCK=$1" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3 || true
}

# none_left LOCK: waits up to ten seconds until none of them is left; what dies with its parent does so
# a moment later.
none_left() {
    local _
    for _ in {1..100}; do
        [[ -n $(processes "$1") ]] || return 0
        sleep 0.1
    done
    return 1
}

# kill_processes LOCK: kills them.
kill_processes() {
    local left
    left=$(processes "$1")
    # shellcheck disable=SC2086 # a list of numbers
    [[ -z $left ]] || kill -KILL $left 2>/dev/null || true
}

# first_value KEY RECORD: the first number or string of that key in a JSON record; the
# keys used occur first in its principal measurement, so bash suffices.
first_value() {
    [[ $2 =~ \"$1\":[[:space:]]*\"?([^\",}]*) ]] ||
        fail "$FAILED" "the program's record has no \"$1\""
    printf '%s\n' "${BASH_REMATCH[1]}"
}

# median: of the numbers on standard input, one per line.
median() {
    sed '/^$/d' | sort -g | awk '
        { value[NR] = $1 }
        END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }
    '
}

# cpus_in LIST: the CPUs of a list such as 0-3,8; of `all`, those that this process may use. A list
# ends at the last of them.
cpus_in() {
    local allowed part first last most list=$1
    allowed=$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status)
    most=${allowed##*[-,]}
    ((${#list} <= 4096)) || bad_usage "--cpus: ${#list} characters are more than the 4096 of a list"
    [[ $list != all ]] || list=$allowed
    for part in ${list//,/ }; do
        [[ $part =~ ^([0-9]{1,9})(-([0-9]{1,9}))?$ ]] ||
            bad_usage "--cpus: '$part' is not a CPU, nor a range such as 2-3"
        first=$((10#${BASH_REMATCH[1]})) last=$((10#${BASH_REMATCH[3]:-${BASH_REMATCH[1]}}))
        ((first <= last)) || bad_usage "--cpus: the range '$part' runs backwards"
        ((last <= most)) ||
            bad_usage "--cpus: '$part' goes beyond CPU $most, the last that this process may use"
        seq "$first" "$last"
    done
}

# require_at_most MOST WHAT COUNT: ends the script if it is more.
require_at_most() {
    (($3 <= $1)) || bad_usage "$3 $2 are more than the $1 that this script takes"
}

# fit_line TASK: fits resident memory over the count by least squares, from lines of count,
# virtual and resident KiB.
fit_line() {
    awk -F '\t' -v task="$1" '
        { x[NR] = $1; y[NR] = $3; sum_x += $1; sum_y += $3 }
        END {
            mean_x = sum_x / NR; mean_y = sum_y / NR
            for (i = 1; i <= NR; i++) {
                dx = x[i] - mean_x; dy = y[i] - mean_y
                xx += dx * dx; xy += dx * dy; yy += dy * dy
            }
            slope = xy / xx
            fit = yy > 0 ? sprintf("%.5f", xy * xy / (xx * yy)) : "undefined"
            printf "# resident_kib as a line over %d to %d %ss:\n", x[1], x[NR], task
            printf "# %.3f KiB per %s, intercept %.1f KiB, R² %s\n",
                slope, task, mean_y - slope * mean_x, fit
        }
    '
}

# memory_at COUNT PROGRAM FLAGS...: prints COUNT, virtual and resident KiB of the program with
# COUNT tasks alive, separated by tabs.
memory_at() {
    local map
    map=$("$2" --quiet --tasks "$1" --iters 3 --warmups 1 --command 'pmap -x {pid}' "${@:3}") || exit
    awk -v count="$1" '$1 == "total" { print count "\t" $3 "\t" $4; found = 1 } END { exit !found }' \
        <<<"$map" || fail "$FAILED" "pmap -x printed no total for $1 tasks"
}

# resident_memory_per TASK FROM TO STEP ARGUMENTS... -- PROGRAM FLAGS...: the whole script: prints
# memory_at's lines for FROM to TO tasks under a heading and, if there are three, their fit. A
# count that a limit refuses ends the table, and the script with that status.
resident_memory_per() {
    local task=$1 from=$2 to=$3 step=$4 count row rows=() status=0
    usage() {
        cat <<USAGE
Usage: ${0##*/} [--from N] [--to N] [--step N]

Runs a program with a growing number of ${task}s, each waiting in a read, reads the
process's memory with pmap, and fits a line: its slope is the memory per $task.
Prints tab-separated values, then the line. If a limit refuses a count, the table
ends there, and the line is fitted to the others.

  --from N   first number of ${task}s [default: $from]
  --to N     last number of ${task}s at most [default: $to]
  --step N   step between the numbers [default: $step]

Examples:
  scripts/${0##*/}
  scripts/${0##*/} --from 1000 --to 5000 --step 1000 > rss.tsv

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit refused, 130 interrupted.
USAGE
    }
    shift 4
    while [[ $1 != -- ]]; do
        case $1 in
            --from | --to | --step) require_count "$1" "${2#--}" && local "${1#--}=$2" && shift 2 ;;
            --help | -h) usage && exit ;;
            *) bad_usage "'$1' is not a flag of this script" ;;
        esac
    done
    ((from + 2 * step <= to)) ||
        bad_usage "from $from to $to by $step is fewer than three counts, too few for a line"
    require_at_most 10000 "counts (--from, --to, --step)" $(((to - from) / step + 1))
    require_tool pmap "the package procps (Debian, Ubuntu) or procps-ng (Fedora, Arch, Alpine)"
    build_programs "$2"
    printf '%ss\tvirtual_kib\tresident_kib\n' "$task"
    for ((count = from; count <= to; count += step)); do
        row=$(memory_at "$count" "$(program_path "$2")" "${@:3}") || status=$?
        ((status != REFUSED)) || break
        ((status == 0)) || exit "$status"
        printf '%s\n' "$row"
        rows+=("$row")
    done
    ((${#rows[@]} < 3)) || printf '%s\n' "${rows[@]}" | fit_line "$task"
    exit "$status"
}

# The ways in which cargo builds each side of a comparison.
readonly WAYS=(default one-unit fat-lto)

# cargo_in WAY COMMAND...: runs it so that cargo builds in this way, whatever the profile says.
cargo_in() {
    local units=16 lto=false
    case $1 in
        one-unit) units=1 ;;
        fat-lto) lto=fat ;;
    esac
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=$units CARGO_PROFILE_RELEASE_LTO=$lto "${@:2}"
}

# compare_ways BRIGADE BASE HEAD ARGUMENTS...: compares BASE-WAY with HEAD-WAY for each way, and
# prints the three ratios of each case as a table in Markdown, which is text, too. Takes --format
# and --fail-on out of the arguments.
compare_ways() {
    local brigade=$1 base=$2 head=$3 way fail_on=never arguments=()
    shift 3
    while (($# > 0)); do
        case $1 in
            --format) shift ;;
            --fail-on) fail_on=${2-} && shift ;;
            *) arguments+=("$1") ;;
        esac
        shift
    done
    for way in "${WAYS[@]}"; do
        "$brigade" compare --bin "$base-$way" --bin "$head-$way" "${arguments[@]}" --format json \
            >"$head-$way.json" || exit
    done
    python3 "$workspace/scripts/three-ways.py" "$fail_on" "$head"-{default,one-unit,fat-lto}.json
}
