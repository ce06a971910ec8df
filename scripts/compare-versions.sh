#!/usr/bin/env bash
# Compares two versions of a crate by the costs that brigade measures.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: compare-versions.sh CRATE OLD NEW CASE... [-- FLAGS]

Builds the programs of the cases from this commit with each version of a crate,
changing only the lock file, and compares the two side by side. Does so three
times: with cargo's default profile, with one codegen unit, and with fat LTO.
Prints three ratios for each case, and a verdict where all agree; a difference
in one build only is where the compiler put things, not what the version costs.
Keeps the builds in target/versions/, for the next time with the same compiler
and the same settings in the environment, such as RUSTFLAGS.

  CASE    a program and its flags, in quotes
  FLAGS   of `brigade compare`, for each of the three [default: --time 60]

Examples:
  scripts/compare-versions.sh tokio 1.47.1 1.54.1 async-mem-brigade
  scripts/compare-versions.sh tokio 1.50.0 1.52.1 \
      'async-mem-brigade --runtime tokio --workers 2' async-brigade -- --time 120

Exit codes: 0 done, 1 a version cannot be built, 2 usage, 4 slower with
--fail-on slower, 130 interrupted.
USAGE
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# build VERSION WAY INTO: builds the programs. All builds are made in the same place, so that only
# the version differs.
build() {
    local source=$versions/source target=$versions/target-$2 program packages=() files
    [[ ! -d $3 ]] || return 0
    rm -rf -- "$source" && mkdir -p -- "$source"
    git -C "$workspace" archive HEAD | tar --extract --directory "$source"
    grep -qE "^$crate = " "$source/Cargo.toml" || bad_usage "'$crate' is no crate of Cargo.toml"
    sed -i -E "/^$crate = /s/\"=?[0-9]+(\.[0-9]+)*\"/\"=$1\"/" "$source/Cargo.toml"
    for program in "${programs[@]}"; do packages+=(--package "$program"); done
    files=$(
        cd -- "$source"
        cargo update --quiet --package "$crate" --precise "$1" >&2
        CARGO_TARGET_DIR=$target executables cargo_in "$2" cargo build --release --quiet "${packages[@]}"
    ) || fail "$FAILED" "$crate $1 cannot be built; cargo says why above"
    mkdir -p -- "$3.part"
    for program in "${programs[@]}"; do
        cp -- "$(grep -m 1 "/$program\$" <<<"$files")" "$3.part"
    done
    mv -- "$3.part" "$3"
}

# compiler_and_settings: a hash of the compiler's version and of what cargo's environment changes in a build.
compiler_and_settings() {
    {
        (cd -- "$workspace" && rustc --version --verbose) || return
        env --null | sed --null-data --quiet --regexp-extended '/^CARGO_TARGET_DIR=/d
            /^(RUSTFLAGS|RUSTC|CARGO_(BUILD|ENCODED|PROFILE|TARGET)_)/p' | sort --zero-terminated
    } | sha256sum | cut -c 1-12
}

[[ ${1-} != --help && ${1-} != -h ]] || { usage && exit; }
(($# >= 4)) || bad_usage "name a crate, two versions and a case"
crate=$1 old=$2 new=$3 cases=() programs=() flags=(--time 60)
shift 3
for version in "$old" "$new"; do
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*$ ]] || bad_usage "'$version' is not a version"
done
while (($# > 0)) && [[ $1 != -- ]]; do
    [[ -f $workspace/${1%% *}/src/lib.rs ]] || bad_usage "'${1%% *}' is not a program of this workspace"
    cases+=("$1") && programs+=("${1%% *}") && shift
done
(($# < 2)) || flags=("${@:2}")
# Older versions mark a runtime of the programs as unstable; both sides enable it.
[[ $crate != tokio ]] || export RUSTFLAGS="${RUSTFLAGS-} --cfg tokio_unstable"
require_tool cargo "Rust, from https://rustup.rs"
require_tool git git
require_tool python3 python3
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)
versions=$workspace/target/versions
settings=$(compiler_and_settings) || fail "$FAILED" "rustc does not print its version"
commit=$(git -C "$workspace" rev-parse --short HEAD)-$settings-$(IFS=+ && echo "${programs[*]}")
for way in "${WAYS[@]}"; do
    build "$old" "$way" "$versions/$commit-$crate-$old-baseline-$way"
    build "$new" "$way" "$versions/$commit-$crate-$new-candidate-$way"
done
build_programs brigade
cd -- "$workspace"
compare_ways "$(program_path brigade)" "$versions/$commit-$crate-$old-baseline" \
    "$versions/$commit-$crate-$new-candidate" "${cases[@]}" --results "$versions/results" "${flags[@]}"
