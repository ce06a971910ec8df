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

# require_tool TOOL PACKAGES: ends the script unless TOOL is installed.
require_tool() {
    command -v "$1" >/dev/null || fail "$FAILED" "$1 is not installed; it is in $2"
}

# build_programs NAME...: builds the workspace's programs in release mode.
build_programs() {
    require_tool cargo "Rust, from https://rustup.rs"
    local name binaries=()
    for name; do binaries+=(--bin "$name"); done
    # From inside the workspace, where its toolchain file applies. The tests' library would add
    # features to dependencies that the other commands build without, and build them again.
    binaries=(--workspace --exclude brigade-contract "${binaries[@]}")
    (cd -- "$workspace" && cargo build --locked --release --quiet "${binaries[@]}") >&2 ||
        fail "$FAILED" "building $* failed; cargo says why above"
}

# program_path NAME: where build_programs puts a program.
program_path() {
    local target=${CARGO_TARGET_DIR:-target}
    [[ $target == /* ]] || target=$workspace/$target
    printf '%s/release/%s\n' "$target" "$1"
}

# first_value KEY RECORD: the first number or string of that key in a JSON
# record. The record is one line from our programs, and the keys used occur
# first in its principal measurement, so bash suffices: no jq.
first_value() {
    [[ $2 =~ \"$1\":[[:space:]]*\"?([^\",}]*) ]] ||
        fail "$FAILED" "the program's record has no \"$1\""
    printf '%s\n' "${BASH_REMATCH[1]}"
}

# raise_hard_file_limit: as far as this user may. Programs raise the soft limit
# themselves, and report if the hard one is too low.
raise_hard_file_limit() {
    local most hard
    most=$(</proc/sys/fs/nr_open)
    hard=$(ulimit -H -n)
    if [[ $hard != unlimited ]] && ((hard < most)); then
        ulimit -H -n "$most" 2>/dev/null || true
    fi
}

# memory_at COUNT PROGRAM FLAGS...: prints COUNT, virtual and resident KiB of
# the program with COUNT tasks alive, separated by tabs.
memory_at() {
    local count=$1 program=$2 map
    shift 2
    map=$("$program" --quiet --tasks "$count" --iters 3 --warmups 1 \
        --command 'pmap -x {pid}' "$@") || exit
    awk -v count="$count" '
        $1 == "total" { print count "\t" $3 "\t" $4; found = 1 }
        END { exit !found }
    ' <<<"$map" || fail "$FAILED" "pmap -x printed no total for $count tasks"
}

# fit_line TASK: fits resident memory over the count by least squares, from
# memory_at's lines.
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

# tabulate_memory TASK FROM TO STEP PROGRAM FLAGS...: memory_at's lines under a
# heading and, if there are three, their fit. A count that a limit refuses ends
# the table, and the script with that status.
tabulate_memory() {
    local task=$1 from=$2 to=$3 step=$4 count row rows=() status=0
    shift 4
    printf '%ss\tvirtual_kib\tresident_kib\n' "$task"
    for ((count = from; count <= to; count += step)); do
        row=$(memory_at "$count" "$@") || status=$?
        ((status != REFUSED)) || break
        ((status == 0)) || exit "$status"
        printf '%s\n' "$row"
        rows+=("$row")
    done
    ((${#rows[@]} < 3)) || printf '%s\n' "${rows[@]}" | fit_line "$task"
    exit "$status"
}

# report_resident_memory TASK FROM TO STEP PROGRAM FLAGS...: checks, builds and
# prints the table and its fit, for FROM to TO tasks of PROGRAM.
report_resident_memory() {
    local task=$1 from=$2 to=$3 step=$4 program=$5
    shift 5
    ((from + 2 * step <= to)) ||
        bad_usage "from $from to $to by $step is fewer than three counts, too few for a line"
    require_tool pmap "the package procps (Debian, Ubuntu) or procps-ng (Fedora, Arch, Alpine)"
    build_programs "$program"
    raise_hard_file_limit
    tabulate_memory "$task" "$from" "$to" "$step" "$(program_path "$program")" "$@"
}
