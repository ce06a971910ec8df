# Functions of the scripts in this folder, for a folder that collects the runs of
# many machines. Sourced, not run; the sourcing script defines usage().
#
#   results/             DATE-LABEL folders, which name no host: safe to share
#   private/hosts.map    LABEL and host, separated by a tab: private
#   private/state/LABEL  state, seconds and reason, separated by tabs
#   private/log/LABEL    the machine's output, which may name it
# shellcheck shell=bash

# shellcheck source=../measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/../measure.bash"

# open_fleet FOLDER: creates it, or continues in it; sets `folder`.
open_fleet() {
    mkdir -p -- "$1/results" "$1/private/state" "$1/private/log" ||
        fail "$FAILED" "--folder: making $1/results: name another folder"
    chmod 700 -- "$1/private"
    folder=$(cd -- "$1" && pwd)
    touch -- "$folder/private/hosts.map"
}

# require_package FILE: ends the script unless FILE is a package; sets `package`
# and its checksum, `sum`.
require_package() {
    [[ $1 ]] || bad_usage "--package is missing"
    [[ -f $1 ]] || bad_usage "--package: '$1' is no file; scripts/package.sh makes one"
    # shellcheck disable=SC2034 # used where it is sourced
    package=$1
    sum=$(sha256sum -- "$1") || fail "$FAILED" "--package: $1 cannot be read"
    sum=${sum%% *}
}

# label_hosts HOST...: assigns each a permanent label: n000, n001 ...
label_hosts() {
    local host map=$folder/private/hosts.map count
    count=$(wc -l <"$map")
    for host; do
        [[ $host =~ ^[A-Za-z0-9][][A-Za-z0-9@._:/%-]*$ ]] ||
            bad_usage "'$host' is not the name of a host"
        if ! cut -f 2 -- "$map" | grep --quiet --line-regexp --fixed-strings -- "$host"; then
            printf 'n%03d\t%s\n' "$count" "$host" >>"$map"
            count=$((count + 1))
        fi
    done
    ((count > 0)) || bad_usage "no hosts are named"
}

# note LABEL STATE SECONDS REASON: records a host's state atomically.
note() {
    local file=$folder/private/state/$1 reason
    reason=$(tr -d '\000-\037\177' <<<"$4")
    printf '%s\t%s\t%s\n' "$2" "$3" "$reason" >"$file.new" && mv -- "$file.new" "$file"
}

# state_of LABEL: waiting, running, done or failed.
state_of() {
    local state=waiting
    [[ ! -e $folder/private/state/$1 ]] || IFS=$'\t' read -r state _ <"$folder/private/state/$1"
    printf '%s\n' "$state"
}

# reason_for STATUS LABEL MINUTES: why a run with this status failed, in one line.
reason_for() {
    local last
    last=$(grep -v '^[[:space:]]*$' "$folder/private/log/$2" 2>/dev/null | tail -n 1) || true
    case $1 in
        124 | 137) printf 'not done within --minutes %s\n' "$3" ;;
        *) printf '%s\n' "${last:-brigade run ended with $1: see its report}" ;;
    esac
}

# count_states: `done`, `failed` and the other hosts.
count_states() {
    local label ended=0 failed=0 left=0
    while IFS=$'\t' read -r label _; do
        case $(state_of "$label") in
            done) ended=$((ended + 1)) ;;
            failed) failed=$((failed + 1)) ;;
            *) left=$((left + 1)) ;;
        esac
    done <"$folder/private/hosts.map"
    printf '%s done, %s failed, %s left\n' "$ended" "$failed" "$left"
}

# show_progress: the counts, on a terminal.
show_progress() {
    [[ ! -t 2 ]] || printf '\r\033[K%s' "$(count_states)" >&2
}

# show_fleet: prints a row per host and the counts; fails unless all are done.
show_fleet() {
    local label state seconds reason counts
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    printf '%-5s  %-7s  %7s  %s\n' host state took reason
    while IFS=$'\t' read -r label _; do
        state=waiting seconds='–' reason=
        if [[ -e $folder/private/state/$label ]]; then
            IFS=$'\t' read -r state seconds reason <"$folder/private/state/$label"
            [[ $state == running ]] && seconds='–' || seconds="$seconds s"
        fi
        # The C locale counts the three bytes of a dash.
        [[ $seconds != '–' ]] || seconds='      –'
        # A long reason continues below, in its column.
        printf '%-5s  %-7s  %7s  %s\n' "$label" "$state" "$seconds" \
            "$(fold --spaces --width=54 <<<"$reason" | sed '2,$s/^/                         /')" |
            sed 's/ *$//'
    done <"$folder/private/hosts.map"
    counts=$(count_states)
    printf '%s; results in %s\n' "$counts" "$folder/results"
    [[ $counts == *' 0 failed, 0 left' ]]
}
