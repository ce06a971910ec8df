#!/usr/bin/env bash
# Compares the programs of two commits side by side on this machine.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: compare-commits.sh --base REF --bin PATH [--build CMD] [--head REF] [-- ARGUMENTS]

Checks out two commits of the repository in the current folder next to each other,
runs CMD in each, and runs `brigade compare --bin BASE/PATH --bin HEAD/PATH
ARGUMENTS` in the checkout of the head. If CMD is a cargo command, it does so three
times: with cargo's default profile, with one codegen unit, and with fat LTO. It
then prints three ratios for each case, and a verdict where all agree. It needs
`brigade` in PATH.

  --base REF   the commit to compare with
  --head REF   the commit to judge [default: HEAD]
  --build CMD  builds the programs, in bash
               [default: cargo build --release --locked]
  --bin PATH   the file of a brigade, or the folder of the programs, in a checkout
  ARGUMENTS    cases and flags of `brigade compare`

Examples:
  scripts/compare-commits.sh --base main --bin target/release/brigade -- --time 100
  scripts/compare-commits.sh --base HEAD~1 --build 'make' --bin build -- \
      --manifest suite.toml --fail-on slower --format markdown

Exit codes: as `brigade compare`: 0 done, 1 failed, 2 usage, 4 slower with --fail-on
slower, 130 interrupted.
USAGE
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# build SIDE [COMMAND...]: runs the build in a checkout, with a command before it. If cargo is set to
# build elsewhere, as by CARGO_TARGET_DIR, both sides would share a folder: each then gets its own.
build() {
    local cargo
    if cargo=$(cd -- "$stage/$1" && cargo metadata --no-deps --format-version 1 2>/dev/null) &&
        [[ $(first_value target_directory "$cargo") != "$stage/$1"/* ]]; then
        local -x CARGO_TARGET_DIR=$stage/$1/target
    fi
    (cd -- "$stage/$1" && "${@:2}" bash -euo pipefail -c "$build") >&2 ||
        fail "$FAILED" "--build failed for ${!1}; it says why above"
    [[ -e $stage/$1/$bin ]] || fail "$FAILED" "--bin: the build of ${!1} made no $bin"
}

# shellcheck disable=SC2034  # By name, below.
base='' head=HEAD build='cargo build --release --locked' bin='' arguments=()
while (($# > 0)); do
    case $1 in
        --help | -h) usage && exit ;;
        --) shift && arguments=("$@") && break ;;
        --base | --head | --build | --bin)
            [[ ${2-} ]] || bad_usage "$1 needs a value"
            printf -v "${1#--}" %s "$2" && shift 2
            ;;
        *) bad_usage "unexpected '$1'" ;;
    esac
done
[[ $base && $bin ]] || bad_usage "--base or --bin is missing"
require_tool git git
require_tool brigade "\`cargo install --path brigade\` installs it"
stage=$(realpath -- "$(mktemp --directory)")
repository=$PWD
trap 'rm -rf -- "$stage" && git -C "$repository" worktree prune' EXIT
for side in base head; do
    git worktree add --quiet --detach "$stage/$side" "${!side}" >&2 ||
        bad_usage "--$side: '${!side}' is no commit here"
done
cd -- "$stage/head"
if [[ $build != cargo\ * ]]; then
    build base && build head
    status=0
    brigade compare --bin "$stage/base/$bin" --bin "$stage/head/$bin" "${arguments[@]}" || status=$?
    exit "$status"
fi
require_tool python3 python3
# With fat LTO the linker optimizes a program as it does the runner in the same binary.
install -D /dev/stdin "$stage/.cargo/config.toml" <<<$'[profile.release.package.brigade]\nopt-level = 3'
for way in "${WAYS[@]}"; do
    for side in base head; do
        build "$side" cargo_in "$way"
        # A folder of cargo's contains much else.
        if [[ -d $stage/$side/$bin ]]; then
            mkdir -- "$stage/$side-$way"
            find "$stage/$side/$bin" -maxdepth 1 -type f -executable -exec cp -t "$stage/$side-$way" {} +
        else
            cp -- "$stage/$side/$bin" "$stage/$side-$way"
        fi
    done
done
compare_ways brigade "$stage/base" "$stage/head" "${arguments[@]}"
