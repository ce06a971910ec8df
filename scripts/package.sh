#!/usr/bin/env bash
# Makes the deb that brigade/Cargo.toml describes and prints its path. Needs cargo-deb, and Go
# for the guest in Go. Flags are those of `cargo deb`, such as --no-build; with `--target
# aarch64-unknown-linux-gnu` the guest is for arm64, too. .ci/arm cross-builds that deb.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
dist=$PWD/target/dist home=${CARGO_HOME:-$HOME/.cargo}
rm -rf -- "$dist" && mkdir -p -- "$dist"
for_target=() strip=(--strip)
[[ " $* " != *' --target aarch64-'* ]] || for_target=(--for arm64)
# This machine's strip knows no binary for another one.
[[ " $* " != *' --no-strip '* ]] || strip=()
! command -v go >/dev/null ||
    CGO_ENABLED=0 sh guests/go/build "${for_target[@]}" "$dist/goroutine-brigade" -trimpath
# The licences of the linked crates.
cargo tree --locked --package brigade --edges normal --prefix none --format '{p}' | sort -u |
    while read -r crate version _; do
        find "$home"/registry/src/*/"$crate-${version#v}" -maxdepth 1 -type f \
            \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) \
            -printf "\n== $crate $version %f\n\n" -exec cat {} \; 2>/dev/null || true
    done >"$dist/licences"
RUSTFLAGS="${RUSTFLAGS-} --remap-path-prefix=$PWD=. --remap-path-prefix=$home=cargo" \
    cargo deb --locked "${strip[@]}" --package brigade "$@"
