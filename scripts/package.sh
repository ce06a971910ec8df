#!/usr/bin/env bash
# Packages brigade and the guests for machines without Rust.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: package.sh [--bin-dir DIR] [--output DIR]

Creates brigade-VERSION-ARCH.tar.gz: the binary, the guests (the Go one built, if Go is
installed), manual pages, completions, README, the licences of all linked crates, and
SHA256SUMS. After unpacking it anywhere, ./brigade runs. It refuses to start on a glibc
older than the newest symbol version in its files. If dpkg-deb is installed, it also
creates brigade_VERSION_ARCH.deb. Two builds of one commit are identical, in any folder.
With cargo-auditable the binary lists its dependencies. Prints the packages' paths.

  --bin-dir DIR  pack existing builds in DIR, and build nothing
  --output DIR   where the packages go [default: .]
  --help         show this

Examples:
  scripts/package.sh
  scripts/package.sh --bin-dir target/release --output /tmp

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# build_all FOLDER: builds brigade and, with Go, its guest into FOLDER.
build_all() {
    local cargo=(cargo) home=${CARGO_HOME:-$HOME/.cargo}
    if cargo auditable --version >/dev/null 2>&1; then
        cargo=(cargo auditable)
    else
        printf 'package.sh: no cargo-auditable: the binary does not list its dependencies\n' >&2
    fi
    # It must contain no path of this machine.
    (cd -- "$workspace" && CARGO_TARGET_DIR=$1 \
        RUSTFLAGS="--remap-path-prefix=$workspace=. --remap-path-prefix=$home=cargo" \
        "${cargo[@]}" build --locked --release --quiet --package brigade) >&2 ||
        fail "$FAILED" "building brigade failed; cargo says why above"
    if ! command -v go >/dev/null; then
        printf 'package.sh: no go is installed: the package has no goroutines\n' >&2
        return
    fi
    (cd -- "$workspace/guests/go" && CGO_ENABLED=0 go build -trimpath -buildvcs=false \
        -o "$1/release/goroutine-brigade" .) >&2 ||
        fail "$FAILED" "building guests/go failed; go says why above"
}

# copy_programs BUILT TO: copies the binary and the guests, including a built Go one.
copy_programs() {
    local built=$1 to=$2 guests=$2/share/brigade/guests file
    [[ -x $built/brigade ]] ||
        fail "$FAILED" "there is no $built/brigade: build it first, or omit --bin-dir"
    install -D -m 755 -- "$built/brigade" "$to/bin/brigade"
    # Debug symbols are most of a binary.
    strip --strip-debug "$to/bin/brigade"
    (cd -- "$workspace" && find guests -type f -not -name '*_test.go') | while read -r file; do
        install -D -m 644 -- "$workspace/$file" "$to/share/brigade/$file"
    done
    [[ ! -f $built/goroutine-brigade ]] || install -m 755 -- "$built/goroutine-brigade" "$guests"
}

# write_manual TO: manual pages and shell completions, from the binary itself.
write_manual() {
    local share=$1/share shell file
    mkdir -p -- "$share/man/man1"
    "$1/bin/brigade" man "$share/man/man1" && gzip -9n "$share"/man/man1/*
    while read -r shell file; do
        mkdir -p -- "$(dirname -- "$share/$file")"
        PATH=$1/bin:$PATH COMPLETE=$shell brigade >"$share/$file"
    done <<EOF
bash bash-completion/completions/brigade
zsh zsh/vendor-completions/_brigade
fish fish/vendor_completions.d/brigade.fish
EOF
    # zsh loads it on first use.
    # shellcheck disable=SC2016 # for zsh
    printf '_clap_dynamic_completer_brigade "$@"\n' >>"$share/zsh/vendor-completions/_brigade"
}

# copy_licences TO: copies ours, and those of the linked crates.
copy_licences() {
    local registry=${CARGO_HOME:-$HOME/.cargo}/registry/src crates crate version rest file
    install -m 644 -- "$workspace"/LICENSE-{APACHE,MIT} "$1"
    crates=$(cd -- "$workspace" && cargo tree --locked --offline --package brigade --edges normal \
        --prefix none --format '{p} {l}' | grep -vF -e " ($workspace" |
        sed -E '/^$/d; s/ \(\*\)$//; s/ \(proc-macro\)//' | sort -u) ||
        fail "$FAILED" "listing the linked crates: build the workspace first"
    mkdir -- "$1/licences"
    printf '%s\n' "$crates" >"$1/licences/crates"
    while read -r crate version rest; do
        [[ $rest ]] || fail "$FAILED" "the crate $crate names no licence"
        for file in "$registry"/*/"$crate-${version#v}"/{LICEN[CS]E,COPYING,NOTICE,COPYRIGHT}*; do
            [[ ! -f $file ]] || install -D -m 644 -- "$file" \
                "$1/licences/$crate-${version#v}/${file##*/}"
        done
    done <<<"$crates"
}

# newest_glibc FILE...: prints the newest symbol version in the files, such as 2.34.
newest_glibc() {
    readelf --version-info --wide "$@" | sed -nE 's/.*Name: GLIBC_([0-9]+\.[0-9]+).*/\1/p' |
        sort -uV | tail -n 1
}

# write_launcher GLIBC ARCH: ./brigade, a script that reports why the binary cannot start.
write_launcher() {
    cat <<EOF
#!/bin/sh
# Starts this package's brigade if this machine can run it.
needed=$1 arch=$2
EOF
    cat <<'EOF'
refuse() {
    echo "brigade: starting: $1" >&2
    exit 1
}
here=$(dirname -- "$(readlink -f -- "$0")")
[ "$(uname -m)" = "$arch" ] ||
    refuse "this package is for $arch, and this machine is $(uname -m): build one here"
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=
case $libc in
    'glibc '[0-9]*.[0-9]*) found=${libc#glibc } ;;
    *) refuse "this package needs glibc $needed or later, and there is none: build one here" ;;
esac
minor=${found#*.} minor=${minor%%.*}
if [ "${found%%.*}" -lt "${needed%%.*}" ] || {
    [ "${found%%.*}" -eq "${needed%%.*}" ] && [ "$minor" -lt "${needed#*.}" ]
}; then
    refuse "this package needs glibc $needed or later, and here is $found: build one here"
fi
exec "$here/bin/brigade" "$@"
EOF
}

# make_package BUILT OUTPUT: packs in a temporary folder.
make_package() {
    local built=$1 output=$2 version arch name glibc folder
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$workspace/Cargo.toml" | head -n 1)
    arch=$(uname -m)
    name=brigade-$version-$arch
    folder=$scratch/$name
    copy_programs "$built" "$folder"
    glibc=$(newest_glibc "$folder/bin/brigade")
    [[ $glibc ]] || fail "$FAILED" "$built/brigade needs no symbol of glibc: is it another libc?"
    write_manual "$folder"
    write_launcher "$glibc" "$arch" >"$folder/brigade"
    chmod 755 "$folder/brigade"
    install -m 644 -- "$workspace/README.md" "$folder"
    copy_licences "$folder"
    (cd -- "$folder" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$scratch/sums"
    mv -- "$scratch/sums" "$folder/SHA256SUMS"
    tar --create --owner=0 --group=0 --numeric-owner --sort=name --mode=go=rX,u+rw \
        --mtime="@$SOURCE_DATE_EPOCH" --directory "$scratch" "$name" | gzip -9n >"$scratch/package"
    mv -- "$scratch/package" "$output/$name.tar.gz"
    printf 'needs glibc %s or later\n' "$glibc" >&2
    printf '%s\n' "$output/$name.tar.gz"
    ! command -v dpkg-deb >/dev/null || make_deb "$folder" "$version" "$glibc" "$output"
}

# make_deb FOLDER VERSION GLIBC OUTPUT: packs the same files for dpkg.
make_deb() {
    local root=$scratch/deb doc arch size
    doc=$root/usr/share/doc/brigade arch=$(dpkg --print-architecture)
    mkdir -p -- "$root/DEBIAN" "$doc"
    mv -- "$1/bin" "$root/usr/bin"
    cp -r -- "$1/share/." "$root/usr/share"
    mv -- "$1/licences" "$1/README.md" "$doc"
    cat -- "$1"/LICENSE-{MIT,APACHE} >"$doc/copyright"
    size=$(find "$root/usr" -type f -printf '%s\n' | awk '{ sum += $1 } END { print int(sum / 1024) }')
    cat >"$root/DEBIAN/control" <<EOF
Package: brigade
Version: $2
Architecture: $arch
Maintainer: The Brigade developers <brigade@localhost>
Installed-Size: $size
Depends: libc6 (>= $3), libgcc-s1
Section: utils
Priority: optional
Description: What concurrency costs on this machine
 Measures switches between threads, async tasks, coroutines, processes and
 goroutines, their creation and their memory.
EOF
    chmod -R go=rX,u+rw "$root"
    dpkg-deb --root-owner-group --build "$root" "$4/brigade_$2_$arch.deb" >&2
    printf '%s\n' "$4/brigade_$2_$arch.deb"
}

bin_dir='' output=.
while (($# > 0)); do
    case $1 in
        --bin-dir | --output)
            (($# > 1)) || bad_usage "$1 needs a folder"
            [[ -d $2 ]] || bad_usage "$1: '$2' is not a folder"
            ;;&
        --bin-dir) bin_dir=$2 && shift 2 ;;
        --output) output=$2 && shift 2 ;;
        --help | -h) usage && exit ;;
        *) bad_usage "unexpected '$1'" ;;
    esac
done
require_tool cargo "Rust, from https://rustup.rs"
for tool in readelf strip; do
    require_tool "$tool" "the package binutils"
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$workspace" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
if [[ ! $bin_dir ]]; then
    # Separate from other builds, whose flags differ.
    target=$(dirname -- "$(dirname -- "$(program_path brigade)")")/dist
    build_all "$target"
    bin_dir=$target/release
fi
make_package "$bin_dir" "$output"
