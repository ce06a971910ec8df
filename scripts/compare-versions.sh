#!/usr/bin/env bash
# Compares two versions of a crate by the costs that brigade measures.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: compare-versions.sh CRATE OLD NEW [CASE...] [-- FLAGS]

Builds brigade from this commit with each version of a crate, changing only the lock
file, and compares the two side by side with `brigade compare --bin`. Keeps the builds
in target/versions/.

  CASE    cases to compare [default: those of the profile default]
  FLAGS   of `brigade compare`, such as --budget 300
  --help  show this

Examples:
  scripts/compare-versions.sh tokio 1.50.0 1.52.1 async-mem-brigade -- --budget 60 \
      --with '--runtime tokio --workers 2'
  scripts/compare-versions.sh tokio 1.52.1 1.52.1 async-brigade-ct -- --rounds 40

Exit codes: as `brigade compare`; 1 a version cannot be built, 2 usage, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# build VERSION INTO: builds brigade with this version of the crate. Both are built in the
# same place, so that only the version differs.
build() {
    local source=$versions/source
    rm -rf -- "$source" && mkdir -p -- "$source"
    git -C "$workspace" archive HEAD | tar --extract --directory "$source"
    grep -qE "^$crate = " "$source/Cargo.toml" || bad_usage "'$crate' is no crate of Cargo.toml"
    sed -i -E "/^$crate = /s/\"=?[0-9]+(\.[0-9]+)*\"/\"=$1\"/" "$source/Cargo.toml"
    (
        cd -- "$source"
        cargo update --quiet --package "$crate" --precise "$1"
        CARGO_TARGET_DIR=$versions/target cargo build --release --quiet --package brigade
    ) >&2 || fail "$FAILED" "$crate $1 cannot be built; cargo says why above"
    mkdir -p -- "$2"
    cp -- "$versions/target/release/brigade" "$2/brigade"
}

[[ ${1-} != --help && ${1-} != -h ]] || { usage && exit; }
(($# >= 3)) || bad_usage "name a crate and two versions"
crate=$1 old=$2 new=$3 cases=() versions=$workspace/target/versions
shift 3
for version in "$old" "$new"; do
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*$ ]] || bad_usage "'$version' is not a version"
done
while (($# > 0)) && [[ $1 != -- ]]; do cases+=("$1") && shift; done
(($# == 0)) || shift
# Older versions mark a runtime of the programs as unstable; both sides enable it.
[[ $crate != tokio ]] || export RUSTFLAGS="${RUSTFLAGS-} --cfg tokio_unstable"
require_tool cargo "Rust, from https://rustup.rs"
require_tool git git
# Each side has a separate folder, even if the versions are equal.
build "$old" "$versions/$crate-$old-baseline"
build "$new" "$versions/$crate-$new-candidate"
cd -- "$workspace"
exec "$versions/$crate-$new-candidate/brigade" compare \
    --bin "$versions/$crate-$old-baseline" "$versions/$crate-$new-candidate" \
    ${cases:+--case "${cases[@]}"} "$@"
