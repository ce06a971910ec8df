#!/usr/bin/env bash
# A package of the runner and the programs, for machines without Rust.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: package.sh [--bin-dir DIR] [--output DIR]

Makes brigade-VERSION-ARCH.tar.gz: the runner, the programs, the guests that
need no build, that in Go if there is a go, suite.toml, README, the licences of
all that is linked in, and SHA256SUMS. Unpacked anywhere, ./brigade runs, and
never builds. It names the oldest glibc that it runs on, which is the newest
version of a symbol that its files need, and refuses to start on an older one.
Prints the path of the package.

  --bin-dir DIR  pack what was built there before, and build nothing
  --output DIR   where the package goes [default: .]
  --help         show this

Examples:
  scripts/package.sh
  scripts/package.sh --bin-dir target/release --output /tmp

Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# The programs of suite.toml whose table has KEY, with the value of it.
programs_with() {
    awk -v key="$1" '
        /^\[/ { name = /^\[programs\./ ? substr($0, 11, length($0) - 11) : "" }
        name && $1 == key && $2 == "=" { gsub(/"/, "", $3); print name "\t" $3 }
    ' "$workspace/suite.toml"
}

# build_all FOLDER: builds every package, and what a go can build into FOLDER.
build_all() {
    (cd -- "$workspace" && cargo build --locked --release --quiet --workspace) >&2 ||
        fail "$FAILED" "building the workspace failed; cargo says why above"
    if ! command -v go >/dev/null; then
        printf 'package.sh: no go is installed: the package has no goroutines\n' >&2
        return
    fi
    (cd -- "$workspace/guests/go" && CGO_ENABLED=0 go build -o "$1/goroutine-brigade" .) >&2 ||
        fail "$FAILED" "building guests/go failed; go says why above"
}

# needs_libraries FILE: whether an ELF file needs shared libraries.
needs_libraries() {
    readelf --dynamic --wide "$1" 2>/dev/null | grep -q '(NEEDED)'
}

# is_static FILE: whether it is an ELF file that runs without libraries.
is_static() {
    [[ -f $1 ]] && readelf --file-header "$1" >/dev/null 2>&1 && ! needs_libraries "$1"
}

# copy_programs BUILT TO: the runner, packages, guests and static builds.
copy_programs() {
    local built=$1 to=$2 name value file
    mkdir -p -- "$to/bin"
    while IFS=$'\t' read -r name value; do
        file=$built/$value
        [[ -x $file ]] || fail "$FAILED" "$file is not there: build it first, or leave out --bin-dir"
        install -m 755 -- "$file" "$to/bin/$value"
    done < <(printf 'brigade\tbrigade\n' && programs_with package)
    # Debug symbols are most of a binary.
    strip --strip-debug "$to"/bin/*
    while IFS=$'\t' read -r name value; do
        ! is_static "$built/$name" || install -m 755 -- "$built/$name" "$to/bin/$name"
    done < <(programs_with build)
    while IFS=$'\t' read -r name value; do
        install -D -m 644 -- "$workspace/$value" "$to/$value"
    done < <(programs_with path)
}

# copy_licences TO: ours, and those of the crates that are linked in.
copy_licences() {
    local registry=${CARGO_HOME:-$HOME/.cargo}/registry/src crates crate version rest file
    install -m 644 -- "$workspace"/LICENSE-{APACHE,MIT} "$1"
    crates=$(cd -- "$workspace" && cargo tree --locked --offline --workspace --edges normal \
        --prefix none --format '{p} {l}' | grep -vF -e " ($workspace" |
        sed -E '/^$/d; s/ \(\*\)$//; s/ \(proc-macro\)//' | sort -u) ||
        fail "$FAILED" "listing the crates that are linked in: build the workspace first"
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

# newest_glibc FILE...: the newest symbol version that the files need, such as 2.34.
newest_glibc() {
    readelf --version-info --wide "$@" | sed -nE 's/.*Name: GLIBC_([0-9]+\.[0-9]+).*/\1/p' |
        sort -uV | tail -n 1
}

# describe_build: the table of suite.toml that says that nothing is to be built.
describe_build() {
    local rustc revision
    printf '\n# What this package was built from; nothing is built where it runs.\n'
    printf '[prebuilt]\nfolder = "bin"\n'
    ! rustc=$(cd -- "$workspace" && rustc --version 2>/dev/null) || printf 'rustc = "%s"\n' "$rustc"
    [[ -e $workspace/.git ]] || return 0
    revision=$(git -C "$workspace" rev-parse HEAD 2>/dev/null) || return 0
    printf 'git_revision = "%s"\n' "$revision"
    if [[ -z $(git -C "$workspace" status --porcelain --untracked-files=no) ]]; then
        printf 'git_dirty = false\n'
    else
        printf 'git_dirty = true\n'
    fi
}

# write_launcher GLIBC ARCH: ./brigade, which runs where the runner could not start.
write_launcher() {
    cat <<EOF
#!/bin/sh
# Starts the runner of this package, where its programs can run.
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

# make_package BUILT OUTPUT: in a folder that is removed.
make_package() {
    local built=$1 output=$2 version arch name glibc folder
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$workspace/Cargo.toml" | head -n 1)
    arch=$(uname -m)
    name=brigade-$version-$arch
    folder=$scratch/$name
    copy_programs "$built" "$folder"
    glibc=$(newest_glibc "$folder"/bin/*)
    [[ $glibc ]] || fail "$FAILED" "the files in $built need no symbol of glibc: is it another libc?"
    { cat -- "$workspace/suite.toml" && describe_build; } >"$folder/suite.toml"
    write_launcher "$glibc" "$arch" >"$folder/brigade"
    chmod 755 "$folder/brigade"
    install -m 644 -- "$workspace"/{README.md,Cargo.lock} "$folder"
    copy_licences "$folder"
    (cd -- "$folder" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$scratch/sums"
    mv -- "$scratch/sums" "$folder/SHA256SUMS"
    tar --create --gzip --owner=0 --group=0 --numeric-owner --sort=name \
        --directory "$scratch" --file "$scratch/package" "$name"
    mv -- "$scratch/package" "$output/$name.tar.gz"
    printf 'needs glibc %s or later\n' "$glibc" >&2
    printf '%s\n' "$output/$name.tar.gz"
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
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
if [[ ! $bin_dir ]]; then
    bin_dir=$(dirname -- "$(program_path brigade)")
    build_all "$bin_dir"
fi
make_package "$bin_dir" "$output"
