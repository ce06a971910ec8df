#!/usr/bin/env bash
# Sends random signals to runs, and checks what they leave.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: signals.sh [--minutes N | --seconds N] [--seed N]

Starts one short `brigade run` after another, and sends random signals to the
runner and to programs at random times. However a run ended, none of its
processes may be left, its lock must be free and its records complete lines,
`brigade report` must read its folder, and `brigade run --resume`, which gets
signals, too, must complete it: no round is lost or run twice.

The script ends at the first fault. It reports the fault, the folder, which it
keeps, and a seed that starts with that run.

  --minutes N  how long [default: 60]
  --seconds N  the same, in seconds
  --seed N     seed of the signals and their times [default: random]
  --help       show this

Examples:
  scripts/signals.sh
  scripts/signals.sh --seconds 30
  scripts/signals.sh --seconds 1 --seed 20261121

Exit codes: 0 no fault, 1 a fault or failed, 2 usage, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# The signals. The runner does not see those of the third list; a stopped program
# is ended by its time-out.
readonly TO_RUNNERS=(INT TERM HUP KILL QUIT)
readonly TO_PROGRAMS=(INT TERM HUP KILL QUIT STOP)
readonly UNHANDLED=(KILL QUIT)

# How long a run and its leftovers may take to end, in tenths of a second.
readonly LONGEST=1200 PATIENCE=100

# Checks the records in FOLDER of a run that ended in STATE: `handled` after a
# signal that it handles, `killed`, which may leave an incomplete last line, or
# the exit code of a complete run.
readonly CHECK_RECORDS='
import collections, json, pathlib, sys

folder, state = pathlib.Path(sys.argv[1]), sys.argv[2]
records = folder / "records.jsonl"
*lines, tail = (records.read_bytes() if records.exists() else b"").split(b"\n")
if tail and state != "killed":
    sys.exit("its last record is torn")
try:
    invocations = [json.loads(line) for line in lines]
except ValueError as error:
    sys.exit(f"a record is torn: {error}")
if invocations and not (folder / "run.json").exists():
    sys.exit("it has records and no run.json")
uninterrupted = [each for each in invocations if not each["interrupted"]]
rounds = collections.Counter((each["case"], each["round"]) for each in uninterrupted)
if any(times > 1 for times in rounds.values()):
    sys.exit("a round was run twice")
if state.isdigit():
    run = json.loads((folder / "run.json").read_bytes())
    if len(rounds) != len(run["cases"]) * run["rounds"]:
        sys.exit("a round is lost")
    if not (folder / "run-end.json").exists():
        sys.exit("it has no run-end.json")
    outcomes = {each["outcome"] for each in uninterrupted}
    code = 1 if outcomes & {"failed", "timed-out"} else 3 if "refused" in outcomes else 0
    if int(state) != code:
        sys.exit(f"it ended with {state}, and its records say {code}")
'

# Kills what is left of the run, and removes everything except a fault's folder.
finish() {
    local status=$? left
    left=$(processes)
    # shellcheck disable=SC2086 # a list of numbers
    [[ -z $left ]] || kill -KILL $left 2>/dev/null || true
    [[ -n $faulty ]] || rm -rf -- "$stage"
    exit "$status"
}

# fault WHAT: ends the script.
fault() {
    faulty=$folder
    fail "$FAILED" "$1: see $folder; again with --seed $seed"
}

# read_arguments ARGUMENTS...: sets seconds and seed.
read_arguments() {
    seconds=3600 seed=$((RANDOM * 32768 + RANDOM))
    while (($# > 0)); do
        case $1 in
            --minutes) require_count "$1" "${2-}" && seconds=$((60 * $2)) && shift ;;
            --seconds) require_count "$1" "${2-}" && seconds=$2 && shift ;;
            --seed) require_count "$1" "${2-}" && seed=$2 && shift ;;
            --help | -h) usage && exit ;;
            *) bad_usage "$1: unknown flag" ;;
        esac
        shift
    done
}

# case_of NAME PROGRAM FILE FLAGS KEYS: a program and its case; FILE is empty if brigade
# contains the program.
case_of() {
    printf '[programs.%s]\n%s\n' "$2" "$5"
    [[ -z $3 ]] || printf 'path = "%s"\n' "$3"
    printf 'check = { tasks = 2, iters = 5, warmups = 1, operations = 2 }\n'
    printf '[[group.case]]\nname = "%s"\nprogram = "%s"\nprofiles = ["default"]\n' "$1" "$2"
    printf 'timeout_seconds = 2\nflags = [%s]\n' "$4"
}

# Programs with threads, with processes, with several workers, one in another
# language, and one that leaves processes that ignore signals, in new sessions, too.
write_manifest() {
    local leaves=$stage/leaves
    printf '[profiles.default]\nrounds = 3\nreruns = 0\nflags = ["--max-time", "0.05"]\n'
    printf '[[group]]\nname = "signals"\nquestion = "What ends with a run?"\n'
    case_of threads thread-brigade '' '"--tasks", "20"' ''
    case_of processes process-creation '' '"--via", "fork"' ''
    case_of workers async-mem-brigade '' \
        '"--runtime", "tokio", "--workers", "2", "--tasks", "20"' ''
    case_of leaves one-thread-brigade "$leaves" '"--tasks", "20"' ''
    case_of guest python-brigade "$workspace/guests/python/brigade.py" '"--tasks", "20"' \
        $'form = "laps"\ninterpreter = ["python3"]'
    cat >"$leaves" <<EOF
#!/bin/sh
trap '' INT TERM HUP
sleep 6000 &
setsid sleep 6000 &
trap - INT TERM HUP
exec "$brigade" one-thread-brigade "\$@"
EOF
    chmod +x "$leaves"
}

# The ids of the run's processes, whatever their parents are now: the environment of
# each contains the lock's name.
processes() {
    local pid
    grep --files-with-matches --null-data --line-regexp --fixed-strings \
        "BRIGADE_LOCK=$folder/lock" /proc/[0-9]*/environ 2>/dev/null |
        while IFS=/ read -r _ _ pid _; do
            printf '%s\n' "$pid"
        done || true
}

# The id of one of the programs' processes, or nothing: excludes forks of the runner
# before their exec, which it waits for.
program() {
    local pid name pids=()
    for pid in $(processes); do
        name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
        [[ $name == brigade || $name == brigade-guard ]] || pids+=("$pid")
    done
    ((${#pids[@]} == 0)) || printf '%s\n' "${pids[$1 % ${#pids[@]}]}"
}

is_running() {
    kill -0 "$runner" 2>/dev/null
}

# begin ARGUMENTS...: starts brigade. Background jobs of a script ignore SIGINT and
# SIGQUIT unless that is reset.
begin() {
    env --default-signal=INT,QUIT BRIGADE_LOCK="$folder/lock" "$brigade" "$@" \
        </dev/null >>"$folder/log" 2>&1 &
    runner=$! state=handled
}

# disturb COUNT: sends this many signals to the run, unless it ends before.
disturb() {
    local left=$1 pause signal target
    while ((left-- > 0)); do
        # Half of them early, when the run begins or just after another signal.
        pause=$((RANDOM % 2 ? RANDOM % 40 : RANDOM % 900))
        sleep "$(printf '0.%03d' "$pause")"
        target=''
        ((RANDOM % 2)) || target=$(program "$RANDOM")
        if [[ -n $target ]]; then
            signal=${TO_PROGRAMS[RANDOM % ${#TO_PROGRAMS[@]}]}
            ! kill -"$signal" "$target" 2>/dev/null || to_programs=$((to_programs + 1))
        else
            signal=${TO_RUNNERS[RANDOM % ${#TO_RUNNERS[@]}]}
            kill -"$signal" "$runner" 2>/dev/null || return 0
            to_runners=$((to_runners + 1))
            [[ " ${UNHANDLED[*]} " != *" $signal "* ]] || state=killed
        fi
        printf 'SIG%s to %s\n' "$signal" "${target:-the runner}" >>"$folder/log"
    done
}

# Waits for the runner's end. Sets status.
await_end() {
    local tenths
    for ((tenths = 0; tenths < LONGEST; tenths++)); do
        if ! is_running; then
            status=0
            wait "$runner" || status=$?
            return 0
        fi
        sleep 0.1
    done
    return 1
}

# Disturbs the run COUNT times, waits for its end, and checks the result. Bash prints
# a message about a child that a signal ended.
check_end() {
    local tenths run reason
    { disturb "$1" && await_end; } 2>/dev/null || fault "it has not ended in $((LONGEST / 10)) s"
    case $status in
        0 | 1 | 3 | 129 | 130 | 131 | 137 | 143) ;;
        *) fault "it ended with $status" ;;
    esac
    for ((tenths = 0; tenths < PATIENCE; tenths++)); do
        [[ -n $(processes) ]] || break
        sleep 0.1
    done
    ((tenths < PATIENCE)) ||
        fault "processes are left: $(processes | tr '\n' ' ' | sed 's/ $//')"
    # An ending process releases its memory, where its environment is, before its files.
    flock --timeout 1 "$folder/lock" true || fault "its lock is held"
    for run in "$folder"/results/*/; do
        [[ -d $run ]] || continue
        reason=$(python3 -c "$CHECK_RECORDS" "$run" "$state" 2>&1) || fault "${reason##*$'\n'}"
        [[ ! -e $run/run.json ]] || "$brigade" report "$run" >>"$folder/log" 2>&1 ||
            fault "brigade report does not read its folder"
    done
}

# One run from start to completion.
run_once() {
    local run resumptions
    folder=$stage/$seed
    mkdir -- "$folder"
    RANDOM=$seed
    runs=$((runs + 1))
    begin run --manifest "$stage/suite.toml" --seed "$seed" --results "$folder/results"
    check_end $((RANDOM % 4))
    run=$(find "$folder/results" -name run.json -printf '%h\n' 2>/dev/null || true)
    if [[ -z $run ]]; then
        # A signal ended it before it had begun.
        ((status > 128)) || fault "it ended with $status before it had begun"
        return
    fi
    [[ -e $run/run-end.json ]] || incomplete=$((incomplete + 1))
    for ((resumptions = RANDOM % 3; resumptions > 0; resumptions--)); do
        [[ ! -e $run/run-end.json ]] || break
        begin run --manifest "$stage/suite.toml" --resume "$run"
        check_end $((1 + RANDOM % 2))
    done
    begin run --manifest "$stage/suite.toml" --resume "$run"
    check_end 0
    state=$status
    reason=$(python3 -c "$CHECK_RECORDS" "$run" "$state" 2>&1) || fault "${reason##*$'\n'}"
}

read_arguments "$@"
require_tool python3 python3
require_tool flock util-linux
build_programs brigade
brigade=$(program_path brigade)
stage=$(mktemp --directory)
readonly stage brigade
folder=$stage faulty='' runs=0 incomplete=0 to_runners=0 to_programs=0
trap finish EXIT
ulimit -c 0
cd -- "$stage"
write_manifest >suite.toml
# The time to build does not count: otherwise half a minute could be over before the first signal.
SECONDS=0
while ((SECONDS < seconds)); do
    run_once
    rm -rf -- "$folder"
    seed=$((seed + 1))
done
printf 'no fault: %s runs, %s resumed; %s signals to runners, %s to programs\n' \
    "$runs" "$incomplete" "$to_runners" "$to_programs"
