#!/usr/bin/env bash
# Runs the tests as on other machines: busier, with other CPUs, without Go or
# io_uring, or as an ordinary user.
set -euo pipefail

usage() {
    cat <<'HELP'
Usage: test-elsewhere.sh CONDITION[:TIMES]... [-- COMMAND...]

Runs COMMAND in the workspace under one condition after another, TIMES each
[default: 1], and continues after a failure. It ends with a table of the
conditions and failures. Without COMMAND it builds the tests of
the workspace once and runs what it has built, as `cargo test` does but for the
examples in documentation; it keeps the output of those that fail. Build
nothing beside it.

  plain             none
  busy              beside four loops that take all the CPU time they can get
  threads32         32 tests at a time
  cpu0, cpu1        on that CPU alone
  cpus-N            as if N CPUs were online, for the C library and its
                    allocator; the kernel still has its own (needs root)
  user              as the user nobody, on a copy of the workspace that lies
                    over it (needs root; who is not root is one already)
  without-go        without a go in PATH
  without-io-uring  with its system calls denied

  --help            show this

Examples:
  scripts/test-elsewhere.sh busy
  scripts/test-elsewhere.sh plain:8 busy:4 threads32:2 cpu0 cpu1 user:2
  scripts/test-elsewhere.sh cpus-64 -- cargo test -p brigade-harness

Exit codes: 0 everything passed, 1 something failed, 2 usage, 130 interrupted.
HELP
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# The arenas that glibc creates per CPU.
readonly ARENAS_PER_CPU=8

# How long the tests of one binary may take, in seconds, before they count as hung.
readonly LONGEST=3600

# Extracts the tests from cargo's messages: the package's folder, in which they
# run, the binary, and a name.
readonly LIST_TESTS='
import json, os, sys

for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["profile"]["test"]:
        folder = os.path.dirname(message["manifest_path"])
        name = os.path.basename(folder) + "/" + message["target"]["name"]
        print(folder, message["executable"], name, sep="\t")
'

# Runs the tests listed in a file, with a time limit in seconds for each.
# shellcheck disable=SC2016 # for the shell inside
readonly RUN_TESTS='
    tests=$1 longest=$2 failed=0
    while IFS="$(printf "\t")" read -r folder binary name; do
        echo "== $name"
        cd "$folder" || exit
        CARGO_MANIFEST_DIR=$folder timeout --foreground --kill-after=10 "$longest" "$binary" </dev/null
        status=$?
        [ "$status" = 0 ] || { failed=1; echo "== $name: FAILED with $status"; }
    done <"$tests"
    exit "$failed"
'

# Extracts from their output the names of failed tests, and of binaries that
# ended without naming one.
# shellcheck disable=SC2016 # for awk
readonly LIST_FAILURES='
/^== .*: FAILED with / { if (!named) print binary ": ended with " $NF; next }
/^== / { binary = $2; named = 0 }
/^test .* \.\.\. FAILED$/ { print binary ": " $2; named = 1 }
'

# Denies the three system calls of io_uring, then executes its arguments. The
# calls have the same numbers on every architecture except Alpha.
readonly DENY_IO_URING='
import ctypes, errno, os, struct, sys

NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2
LOAD_NUMBER, IF_AT_LEAST, IF_ABOVE, RETURN = 0x20, 0x35, 0x25, 0x06
DENY, ALLOW = 0x50000 | errno.EPERM, 0x7FFF0000
first, last = 425, 427
program = [
    (LOAD_NUMBER, 0, 0, 0),
    (IF_AT_LEAST, 0, 2, first),
    (IF_ABOVE, 1, 0, last),
    (RETURN, 0, 0, DENY),
    (RETURN, 0, 0, ALLOW),
]
code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
buffer = ctypes.create_string_buffer(code)
header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
prctl = ctypes.CDLL(None, use_errno=True).prctl
# Root needs no NO_NEW_PRIVS, and can still become another user.
if prctl(SET_SECCOMP, FILTER, header) != 0:
    if prctl(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or prctl(SET_SECCOMP, FILTER, header) != 0:
        sys.exit("denying io_uring: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
'

# Removes temporary files, except the output of failed tests.
finish() {
    local status=$?
    rm -rf -- "$stage"
    exit "$status"
}

require_root() {
    ((EUID == 0)) || fail "$FAILED" "$1 mounts files over others: run it as root"
}

beside_four_loops() {
    local loops=4
    # They ignore SIGINT, like all background jobs of a script.
    # shellcheck disable=SC2046 # a list of numbers
    trap 'kill $(jobs -p) 2>/dev/null' EXIT
    trap 'exit 130' INT
    while ((loops-- > 0)); do
        while :; do :; done &
    done
    "$@"
}

# with_cpus N COMMAND...: makes glibc see N CPUs.
with_cpus() {
    local cpus=$1
    shift
    require_root "cpus-$cpus"
    printf '0-%s\n' $((cpus - 1)) >"$stage/online"
    # shellcheck disable=SC2016 # for the shell inside
    GLIBC_TUNABLES=glibc.malloc.arena_max=$((cpus * ARENAS_PER_CPU)) \
        unshare --mount sh -c '
            mount --bind "$0" /sys/devices/system/cpu/online && exec "$@"
        ' "$stage/online" "$@"
}

# Runs as the user nobody, who owns a copy of the workspace mounted over it, so that
# builds are reused, and an empty home mounted over root's, with cargo and the
# compilers in it.
as_nobody() {
    if ((EUID != 0)); then
        "$@"
        return
    fi
    local folders=("$stage/"{cargo,rustup,home,tmp,workspace})
    rm -rf -- "${folders[@]}"
    mkdir -- "${folders[@]}"
    # Without the parts that no test needs, which are most of it.
    tar --create --directory="$workspace" --exclude=./target/release --exclude=incremental \
        --exclude=./fuzz/target . | tar --extract --directory="$stage/workspace"
    chown --recursive nobody "$stage/workspace" "$stage/home" "$stage/tmp"
    # shellcheck disable=SC2016 # for the shell inside
    TMPDIR=$stage/tmp unshare --mount sh -c '
        set -e
        stage=$1 workspace=$2 cargo=$3 rustup=$4
        shift 4
        # over FOLDER SOURCE: mounts SOURCE over FOLDER, in the empty home, too.
        over() { mkdir -p "$1" && mount --bind "$2" "$1"; }
        over "$stage/cargo" "$cargo"
        over "$stage/rustup" "$rustup"
        over "$HOME" "$stage/home"
        over "$cargo" "$stage/cargo"
        over "$rustup" "$stage/rustup"
        over "$workspace" "$stage/workspace"
        cd "$workspace"
        exec setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
    ' sh "$stage" "$workspace" "${CARGO_HOME:-$HOME/.cargo}" "${RUSTUP_HOME:-$HOME/.rustup}" "$@"
}

# Replaces folders in PATH that contain go by links to their other files.
without_go() {
    local folder folders=() links search=
    IFS=: read -r -a folders <<<"$PATH"
    for folder in "${folders[@]}"; do
        if [[ -e $folder/go ]]; then
            links=$(mktemp --directory --tmpdir="$stage")
            find "$folder/" -mindepth 1 -maxdepth 1 ! -name go ! -name gofmt \
                -exec ln --symbolic --target-directory="$links" {} +
            folder=$links
        fi
        search+=${search:+:}$folder
    done
    PATH=$search "$@"
}

without_io_uring() {
    require_tool python3 python3
    python3 -c "$DENY_IO_URING" "$@"
}

# under CONDITION COMMAND...: runs COMMAND under it.
under() {
    local condition=$1
    shift
    case $condition in
        plain) "$@" ;;
        busy) beside_four_loops "$@" ;;
        threads32) RUST_TEST_THREADS=32 "$@" ;;
        cpus-*) with_cpus "${condition#cpus-}" "$@" ;;
        cpu*) taskset --cpu-list "${condition#cpu}" "$@" ;;
        user) as_nobody "$@" ;;
        without-go) without_go "$@" ;;
        without-io-uring) without_io_uring "$@" ;;
    esac
}

# read_arguments ARGUMENTS...: sets conditions, each as often as requested, and
# command.
read_arguments() {
    conditions=() command=()
    local condition times
    while (($# > 0)); do
        case $1 in
            --help | -h) usage && exit ;;
            --) shift && command=("$@") && break ;;
        esac
        condition=${1%%:*} times=1
        [[ $condition =~ ^(plain|busy|threads32|cpu[0-9]+|cpus-[1-9][0-9]{0,3}|user)$ ||
            $condition =~ ^without-(go|io-uring)$ ]] || bad_usage "'$condition' is not a condition"
        [[ $1 != *:* ]] || { times=${1#*:} && require_count "$condition" "$times"; }
        while ((times-- > 0)); do conditions+=("$condition"); done
        shift
    done
    ((${#conditions[@]} > 0)) || bad_usage "no condition named"
}

# Builds the tests and lists them. Those that run cargo themselves get the
# toolchain of the workspace, as from `cargo test`.
build_tests() {
    require_tool cargo "Rust, from https://rustup.rs"
    require_tool python3 python3
    cargo test --workspace --locked --no-run --message-format json-render-diagnostics \
        >"$stage/messages" || fail "$FAILED" "building the tests failed; cargo says why above"
    python3 -c "$LIST_TESTS" <"$stage/messages" >"$stage/tests"
    [[ -s $stage/tests ]] || fail "$FAILED" "cargo has built no tests"
    chmod 644 "$stage/tests"
    if command -v rustup >/dev/null; then
        RUSTUP_TOOLCHAIN=$(rustup show active-toolchain | cut --delimiter=' ' --fields=1)
        export RUSTUP_TOOLCHAIN
    fi
    command=(sh -c "$RUN_TESTS" sh "$stage/tests" "$LONGEST")
}

# run_once CONDITION: runs the command, with its output in a file if it is the tests,
# and adds its result to the table.
run_once() {
    local condition=$1 began=$SECONDS outcome=passed status log='' failures
    exec 3>&1 4>&2
    if ((tests)); then
        log=$(mktemp --suffix=".$condition.log")
        exec >"$log" 2>&1
    fi
    # A subshell ends if the condition cannot be arranged; left of `||`, it
    # would continue.
    set +e
    (set -e && under "$condition" "${command[@]}") 3>&- 4>&-
    status=$?
    set -e
    exec 1>&3- 2>&4-
    ((status != 130)) || exit "$status"
    if ((status != 0)); then
        failed=$((failed + 1)) outcome="FAILED with $status"
        failures=$([[ -z $log ]] || awk "$LIST_FAILURES" "$log")
        outcome+=${log:+: $log}${failures:+$'\n    '${failures//$'\n'/$'\n    '}}
    elif [[ -n $log ]]; then
        rm -- "$log"
    fi
    table+=$(printf '%-17s %6d s  %s' "$condition" $((SECONDS - began)) "$outcome")$'\n'
    # Progress; the table repeats it.
    ((${#conditions[@]} == 1)) || printf '%s: %s\n' "$condition" "$outcome" >&2
}

read_arguments "$@"
stage=$(mktemp --directory)
readonly stage
trap finish EXIT
chmod 755 "$stage"
cd -- "$workspace"
tests=0 failed=0 table=''
((${#command[@]} > 0)) || { tests=1 && build_tests; }
for condition in "${conditions[@]}"; do
    run_once "$condition"
done
printf '\n%s' "$table"
((failed == 0)) || fail "$FAILED" "$failed of ${#conditions[@]} failed"
