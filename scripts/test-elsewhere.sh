#!/usr/bin/env bash
# Runs the tests as on a machine that is not this one: busier, with other CPUs,
# without Go or io_uring, or as an ordinary user.
set -euo pipefail

usage() {
    cat <<'HELP'
Usage: test-elsewhere.sh CONDITION [COMMAND...]

Runs COMMAND in the workspace under a condition and exits with its exit code
[default: cargo test --workspace --locked].

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
  scripts/test-elsewhere.sh cpus-64 cargo test -p harness
  scripts/test-elsewhere.sh user cargo test -p suite --test house_rules

Exit codes: COMMAND's; 1 failed, 2 usage, 130 interrupted.
HELP
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# The arenas that glibc makes for each CPU.
readonly ARENAS_PER_CPU=8

# Denies the three system calls of io_uring, then becomes its arguments. Their
# numbers are the same on every architecture but Alpha.
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
# Who is root may do so and stay able to become somebody else.
if prctl(SET_SECCOMP, FILTER, header) != 0:
    if prctl(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or prctl(SET_SECCOMP, FILTER, header) != 0:
        sys.exit("denying io_uring: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
'

# Ends the loops and removes what was made for the condition.
finish() {
    local status=$? loops
    loops=$(jobs -p)
    # shellcheck disable=SC2086 # a list of numbers
    [[ -z $loops ]] || kill $loops
    rm -rf -- "$stage"
    exit "$status"
}
require_root() {
    ((EUID == 0)) || fail "$FAILED" "$1 mounts files over others: run it as root"
}

beside_four_loops() {
    local loops=4
    while ((loops-- > 0)); do
        while :; do :; done &
    done
    "$@"
}

# with_cpus N COMMAND...: what glibc reads says that there are N.
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

# As nobody, who owns a copy of the workspace that lies over it, so that what has
# been built need not be built again, and an empty home that lies over root's, with
# cargo and the compilers in it.
as_nobody() {
    if ((EUID != 0)); then
        "$@"
        return
    fi
    chmod 755 "$stage"
    mkdir "$stage/cargo" "$stage/rustup" "$stage/home" "$stage/tmp"
    cp --archive "$workspace" "$stage/workspace"
    chown --recursive nobody "$stage/workspace" "$stage/home" "$stage/tmp"
    # shellcheck disable=SC2016 # for the shell inside
    TMPDIR=$stage/tmp unshare --mount sh -c '
        set -e
        stage=$1 workspace=$2 cargo=$3 rustup=$4
        shift 4
        # over FOLDER SOURCE: SOURCE lies over FOLDER, also in the empty home.
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

# Folders in PATH that have a go are replaced by links to all else in them.
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

case ${1-} in
    --help | -h) usage && exit ;;
    plain) under=() ;;
    busy) under=(beside_four_loops) ;;
    threads32) under=(env RUST_TEST_THREADS=32) ;;
    cpu[0-9]*) under=(taskset --cpu-list "${1#cpu}") ;;
    cpus-[1-9]*) require_count "$1" "${1#cpus-}" && under=(with_cpus "${1#cpus-}") ;;
    user) under=(as_nobody) ;;
    without-go) under=(without_go) ;;
    without-io-uring) under=(without_io_uring) ;;
    *) bad_usage "'${1-}' is not a condition" ;;
esac
shift
stage=$(mktemp --directory)
readonly stage
trap finish EXIT
(($# > 0)) || set -- cargo test --workspace --locked
cd -- "$workspace"
"${under[@]}" "$@"
