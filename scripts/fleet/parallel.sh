#!/usr/bin/env bash
# Brigade on many machines over ssh, with GNU parallel.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: parallel.sh --package FILE --folder DIR [FLAGS] [-- RUN FLAGS]

Runs `brigade run RUN FLAGS` on every host: copies the package to
~/.cache/brigade unless its checksum matches, runs it, and fetches the results
into DIR/results. Hosts are called n000, n001 ... there; DIR/private maps these
to hosts and contains logs and reasons: keep it private. Run it again to
continue: hosts that are done are skipped.

A run on a host continues after an interrupted script; until it ends, the host
refuses another.

  --package FILE   a package from scripts/package.sh
  --folder DIR     output folder, new or to be continued
  --hosts FILE     one ssh destination per line, such as me@node or
                   ssh://me@node:2222; added to earlier ones
  --jobs N         hosts at the same time [default: 50]
  --minutes N      time limit of a run [default: 30]
  --resume-failed  run failed hosts again, too
  --ssh COMMAND    words [default: ssh -o BatchMode=yes -o ConnectTimeout=10
                   -o ServerAliveInterval=15]
  --help           show this

Examples:
  scripts/fleet/parallel.sh --package brigade-1.0.0-x86_64.tar.gz \
    --folder fleet --hosts hosts -- --profile quick
  scripts/fleet/parallel.sh --package brigade-1.0.0-x86_64.tar.gz \
    --folder fleet --resume-failed -- --profile quick

Exit codes: 0 all hosts are done, 1 one failed, 2 usage, 130 interrupted.
EOF
}

# shellcheck source=fleet.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/fleet.bash"

# The folder of the package in a user's home.
readonly CACHE=.cache/brigade

# on_host HOST COMMAND: runs a shell command there.
on_host() {
    # shellcheck disable=SC2086 # they are words
    $remote_shell "$1" "$2"
}

# deliver HOST: copies, checks and unpacks the package there.
deliver() {
    local status=0
    on_host "$1" "sh -c 'test -x \"\$HOME/$CACHE/$sum/brigade\"'" </dev/null || status=$?
    ((status == 1)) || return "$status"
    on_host "$1" "sh -c '
        set -e; umask 022; cd; mkdir -p $CACHE; new=\$(mktemp -d $CACHE/new.XXXXXX)
        { tar -xzf - --strip-components=1 -C \"\$new\" && chmod 755 \"\$new\" &&
            (cd \"\$new\" && sha256sum --quiet -c SHA256SUMS >&2); } ||
            { rm -rf \"\$new\"; echo the package did not arrive whole >&2; exit 1; }
        mv -T \"\$new\" $CACHE/$sum 2>/dev/null || rm -rf \"\$new\"
        test -x $CACHE/$sum/brigade'" <"$package"
}

# measure HOST LABEL FOLDER: runs there, and unpacks the results into FOLDER.
measure() {
    on_host "$1" 'sh -s' <<EOF | tar --extract --no-same-owner --directory "$3"
out=\$(mktemp -d) || exit
trap 'rm -rf -- "\$out"' EXIT
mkdir "\$out/results" || exit
timeout --signal=INT --kill-after=60 $((minutes * 60)) \
    "\$HOME/$CACHE/$sum/brigade" run --name $2 --results "\$out/results" $run_flags \
    </dev/null >/dev/null
status=\$?
tar --create --directory "\$out/results" . || exit
exit \$status
EOF
    return "${PIPESTATUS[0]}"
}

# keep LABEL FETCHED: moves its runs to the results; fails if there are none.
keep() {
    local run name number kept=1
    for run in "$2"/*; do
        name=${run##*/}
        [[ -d $run && ! -L $run && $name =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}-$1$ ]] || continue
        number=1
        until mkdir -- "$folder/results/$name" 2>/dev/null; do
            [[ -d $folder/results/$name ]] || return
            number=$((number + 1)) name=${run##*/}-$number
        done
        mv -T -- "$run" "$folder/results/$name" && kept=0
    done
    return "$kept"
}

# run_host LABEL HOST: does everything for one host, and records its state.
run_host() {
    local label=$1 host=$2 status=0 reason='' fetched log=$folder/private/log/$1
    SECONDS=0
    note "$label" running 0 ''
    fetched=$(mktemp -d -- "$folder/private/fetched.XXXXXX") || return
    { deliver "$host" && measure "$host" "$label" "$fetched"; } 2>"$log" || status=$?
    ((status == 0)) || reason=$(reason_for "$status" "$label" "$minutes")
    if ! keep "$label" "$fetched" && ((status == 0)); then
        status=1 reason='it sent no results'
    fi
    rm -rf -- "$fetched"
    if ((status == 0)); then
        note "$label" "done" "$SECONDS" ''
    else
        note "$label" failed "$SECONDS" "$reason"
    fi
    show_progress
    return "$status"
}

# quoted WORD...: for a shell.
quoted() {
    local word
    for word; do
        printf " '%s'" "${word//\'/\'\\\'\'}"
    done
}

package='' folder='' hosts_file='' jobs=50 minutes=30 resume=--resume
remote_shell='ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15'
while (($# > 0)); do
    case $1 in
        --package | --folder | --hosts | --jobs | --minutes | --ssh)
            [[ ${2-} ]] || bad_usage "$1 needs a value"
            ;;&
        --jobs | --minutes) require_count "$1" "$2" ;;&
        --package) package=$2 && shift 2 ;;
        --folder) folder=$2 && shift 2 ;;
        --hosts) hosts_file=$2 && shift 2 ;;
        --jobs) jobs=$2 && shift 2 ;;
        --minutes) minutes=$2 && shift 2 ;;
        --ssh) remote_shell=$2 && shift 2 ;;
        --resume-failed) resume=$1 && shift ;;
        --help | -h) usage && exit ;;
        --) shift && break ;;
        *) bad_usage "unexpected '$1'" ;;
    esac
done
require_package "$package"
[[ $folder ]] || bad_usage "--folder is missing"
hosts=()
if [[ $hosts_file ]]; then
    [[ -r $hosts_file ]] || bad_usage "--hosts: '$hosts_file' cannot be read"
    mapfile -t hosts < <(sed -E 's/#.*//; s/[[:space:]]//g; /^$/d' -- "$hosts_file")
fi
require_tool parallel "the package parallel"
open_fleet "$folder"
label_hosts "${hosts[@]}"
run_flags=$(quoted "$@")

export folder package sum minutes remote_shell run_flags CACHE
export -f on_host deliver measure keep run_host note reason_for show_progress count_states state_of
show_progress
# The states record which hosts failed.
PARALLEL_SHELL=$BASH parallel --will-cite --jobs "$jobs" --ungroup --colsep '\t' \
    --joblog "$folder/private/joblog" "$resume" run_host '{1}' '{2}' \
    :::: "$folder/private/hosts.map" </dev/null || true
show_fleet || exit "$FAILED"
