#!/usr/bin/env bash
# Compares the programs of two commits side by side on this machine.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: compare-commits.sh --base REF --bin PATH [--build CMD] [--head REF] [-- FLAGS]

Checks out two commits of the repository in the current folder next to each other, runs
CMD in each, and runs `brigade compare --bin BASE/PATH HEAD/PATH FLAGS`, in the checkout
of the head. It needs `brigade` in PATH.

  --base REF   the commit to compare with
  --head REF   the commit to judge [default: HEAD]
  --build CMD  builds the programs, in bash
               [default: cargo build --release --locked]
  --bin PATH   the file of a brigade, or the folder of the programs, in a checkout
  --help       show this

Examples:
  scripts/compare-commits.sh --base main --bin target/release/brigade -- --budget 300
  scripts/compare-commits.sh --base HEAD~1 --build 'make' --bin build -- \
      --manifest suite.toml --fail-on slower --format markdown

Exit codes: as `brigade compare`: 0 done, 1 failed, 2 usage, 4 slower with --fail-on
slower, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# By name, below.
# shellcheck disable=SC2034
base='' head=HEAD build='cargo build --release --locked' bin='' flags=()
while (($# > 0)); do
    case $1 in
        --help | -h) usage && exit ;;
        --) shift && flags=("$@") && break ;;
        --base | --head | --build | --bin)
            [[ ${2-} ]] || bad_usage "$1 needs a value"
            printf -v "${1#--}" %s "$2" && shift 2
            ;;
        *) bad_usage "unexpected '$1'" ;;
    esac
done
[[ $base && $bin ]] || bad_usage "--base or --bin is missing"
require_tool git git
require_tool brigade "cargo install --path brigade installs it"
stage=$(mktemp --directory)
repository=$PWD
trap 'rm -rf -- "$stage" && git -C "$repository" worktree prune' EXIT
for side in base head; do
    git worktree add --quiet --detach "$stage/$side" "${!side}" >&2 ||
        bad_usage "--$side: '${!side}' is no commit here"
    (cd -- "$stage/$side" && bash -euo pipefail -c "$build") >&2 ||
        fail "$FAILED" "--build failed for ${!side}; it says why above"
done
cd -- "$stage/head"
brigade compare --bin "$stage/base/$bin" "$stage/head/$bin" "${flags[@]}"
