#!/bin/bash
# Disturbs short runs on purpose and counts how many of them report it.
# Functions are called by the trap, and by name.
# shellcheck disable=SC2317
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1-}" = --help ]; then
    cat <<'EOF'
Usage: disturbances.sh [RUNS]

Disturbs RUNS short runs [default: 12] in each of several ways, and counts how
many of them report it. Takes 6 minutes. Needs root, Python, control groups `cpu`
and `freezer` of version 1 (or skips that part) and release builds.

Examples:
  scripts/disturbances.sh
  scripts/disturbances.sh 3

Exit codes: 0 done, 1 fewer than 11 of 12 runs report a disturbance, or an
undisturbed run reports one. On a shared machine that may be true: the line names
the cause.
EOF
    exit
fi

runs=${1:-12}
case='switch-futex/same-cpu'
program=thread-switch
folder=$(mktemp -d)
manifest=$(mktemp suite.XXXXXX.toml)
group=/sys/fs/cgroup
failed=0
running=()

stop() {
    if ((${#running[@]})); then kill "${running[@]}" 2>/dev/null || true; fi
    wait 2>/dev/null || true
    running=()
}
cleanup() {
    stop
    pkill -CONT -x "$program" || true
    for tree in cpu freezer; do
        [ -d "$group/$tree/brigade" ] || continue
        [ "$tree" = cpu ] || echo THAWED > "$group/$tree/brigade/freezer.state"
        while read -r pid; do echo "$pid" > "$group/$tree/cgroup.procs" || true; done \
            < "$group/$tree/brigade/cgroup.procs"
        rmdir "$group/$tree/brigade" || true
    done
    rm -rf "$folder" "$manifest"
}
trap cleanup EXIT

sed 's/^spread_seconds = .*/spread_seconds = 0/' suite.toml > "$manifest"

# measure [COMMAND…]: runs the case once, under a command; prints the report's notes on it.
measure() {
    rm -rf "$folder/run"
    mkdir "$folder/run"
    BRIGADE_LOCK=$folder/lock "$@" target/release/brigade run --manifest "$manifest" \
        --profile default --case "$case" --rounds 12 --no-build --results "$folder/run" \
        > /dev/null 2> "$folder/errors" || true
    sed -n "s|^- .*<sub>$case</sub>: ||p" "$folder"/run/*/report.md | tr '\n' ' ' || true
}

# row NAME WORDS [COMMAND…]: prints how many of the runs report these words.
row() {
    local name=$1 words=$2 found=0 said='' line
    shift 2
    for ((run = 0; run < runs; run++)); do
        line=$(measure "$@")
        [[ $line =~ $words ]] && { found=$((found + 1)) said=$line; }
    done
    printf '%-34s %2d of %d  %.70s\n' "$name" "$found" "$runs" "$said"
    if [ "$name" = nothing ]; then
        [ "$found" -eq 0 ] || failed=1
    else
        [ $((12 * found)) -ge $((11 * runs)) ] || failed=1
    fi
}

# thief PERCENT: uses this share of the first CPU.
thief() {
    python3 - "$1" << 'PYTHON' &
import os, sys, time
share = float(sys.argv[1]) / 100
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while True:
    end = time.monotonic() + share * 0.01
    while time.monotonic() < end:
        pass
    time.sleep((1 - share) * 0.01)
PYTHON
    running+=($!)
}

# in_group TREE COMMAND…: runs a command in this hierarchy's group.
in_group() {
    (echo "$BASHPID" > "$group/$1/brigade/cgroup.procs" && exec env "${@:2}")
}

row 'nothing' 'of its CPU time'
for percent in 10 20 40; do
    thief "$percent"
    row "a thief takes $percent %" 'others took'
    stop
done
if [ "$(id -u)" -eq 0 ] && [ -w "$group/cpu" ] && mkdir "$group/cpu/brigade"; then
    for percent in 50 25; do
        # Shorter than a process: otherwise it could fit into one period and lose nothing.
        echo 20000 > "$group/cpu/brigade/cpu.cfs_period_us"
        echo $((percent * 200)) > "$group/cpu/brigade/cpu.cfs_quota_us"
        row "a quota of $percent %" 'quota throttled it in' in_group cpu
    done
else
    echo 'a quota: skipped, no writable control group cpu of version 1'
fi
(while :; do
    pkill -STOP -x "$program" && sleep 0.3
    pkill -CONT -x "$program" || true
    sleep 0.02
done) &
running+=($!)
row 'SIGSTOP for 0.3 s' 'a signal stopped it'
stop
if [ "$(id -u)" -eq 0 ] && [ -w "$group/freezer" ] && mkdir "$group/freezer/brigade"; then
    (while :; do
        echo FROZEN > "$group/freezer/brigade/freezer.state"
        sleep 0.3
        echo THAWED > "$group/freezer/brigade/freezer.state"
        sleep 0.1
    done) &
    running+=($!)
    row 'frozen for 0.3 s at a time' 'unexplained' in_group freezer
    stop
else
    echo 'frozen: skipped, no writable control group freezer of version 1'
fi
if [ "$(id -u)" -eq 0 ] && unshare -m true; then
    cp /proc/stat "$folder/stat"
    thief 40
    row '/proc/stat stands still, thief 40 %' 'others took|unexplained|unknown' \
        unshare -m bash -c "mount --bind $folder/stat /proc/stat && exec \"\$@\"" bash
    stop
else
    echo '/proc/stat stands still: skipped, no mount namespace'
fi
exit "$failed"
