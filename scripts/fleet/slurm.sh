#!/usr/bin/env bash
# Brigade on the nodes of a Slurm cluster, each alone.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: slurm.sh --package FILE --folder DIR [FLAGS] [NODES] [-- RUN FLAGS]

Submits an exclusive job for every node, which runs `brigade run RUN FLAGS`,
and waits until all have ended. DIR must be on a file system that all nodes
share; the package is unpacked there and all results go to DIR/results. Nodes
are called n000, n001 ... there, by the array index of the job. DIR/private maps
these to nodes and contains logs and reasons: keep it private.

An interrupted script leaves the jobs running. Run it again to continue: nodes
that are done are skipped.

  NODES            such as node[1-8],big3 [default: those of the partition]
  --package FILE   a package from scripts/package.sh
  --folder DIR     output folder, new or to be continued
  --partition P    [default: the cluster's]
  --minutes N      time limit of a run [default: 30]
  --resume-failed  run failed nodes again, too
  --sbatch WORD    an additional flag of sbatch, such as --account=lab; repeatable
  --help           show this

Examples:
  scripts/fleet/slurm.sh --package brigade-1.0.0-x86_64.tar.gz \
    --folder /shared/fleet -- --profile quick
  scripts/fleet/slurm.sh --package brigade-1.0.0-x86_64.tar.gz \
    --folder /shared/fleet --resume-failed -- --profile quick

Exit codes: 0 all nodes are done, 1 one failed, 2 usage, 130 interrupted.
EOF
}

# shellcheck source=fleet.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/fleet.bash"

# How often to look at the queue, in seconds.
readonly PAUSE=2

# unpack: unpacks the package once for all nodes.
unpack() {
    local place=$folder/private/package-$sum new
    [[ ! -x $place/brigade ]] || return 0
    new=$(mktemp -d -- "$folder/private/new.XXXXXX")
    if ! tar --extract --gzip --strip-components=1 --directory "$new" --file "$package" ||
        ! (cd -- "$new" && sha256sum --quiet --check SHA256SUMS) >&2; then
        fail "$FAILED" "--package: unpacking $package: the file is damaged"
    fi
    mv -T -- "$new" "$place"
}

# on_node FOLDER SUM MINUTES RUN-FLAGS...: the body of a job, on its node.
on_node() {
    local folder=$1 sum=$2 minutes=$3 label status=0
    shift 3
    label=$(printf 'n%03d' "$SLURM_ARRAY_TASK_ID")
    SECONDS=0
    note "$label" running 0 ''
    timeout --signal=INT --kill-after=60 $((minutes * 60)) \
        "$folder/private/package-$sum/brigade" run --name "$label" \
        --results "$folder/results" "$@" </dev/null >/dev/null || status=$?
    if ((status == 0)); then
        note "$label" "done" "$SECONDS" ''
    else
        note "$label" failed "$SECONDS" "$(reason_for "$status" "$label" "$minutes")"
    fi
    return "$status"
}

# write_job: prints the script for sbatch.
write_job() {
    {
        printf '#!/usr/bin/env bash\nset -u\nexport LC_ALL=C\n'
        declare -f note reason_for on_node
        # shellcheck disable=SC2016 # for the job
        printf 'on_node "$@"\n'
    } >"$folder/private/job"
}

# cannot_run NODE: prints why a job for it would wait for ever, if it would.
cannot_run() {
    local state
    state=$(sinfo --noheader --nodes="$1" --format=%t 2>/dev/null | head -n 1) || true
    case $state in
        *\* | down* | drain* | drng* | fail* | inval*) printf 'its node is %s\n' "$state" ;;
    esac
}

# submit LABEL NODE RUN-FLAGS...: submits a node's job, or records why not.
submit() {
    local label=$1 node=$2 job reason
    shift 2
    rm -f -- "$folder/private/state/$label" "$folder/private/jobs/$label"
    reason=$(cannot_run "$node")
    if [[ $reason ]]; then
        note "$label" failed 0 "$reason"
        return
    fi
    # A minute more than `timeout`, so that the results of a slow node are kept.
    if job=$(sbatch --parsable --job-name=brigade --array=$((10#${label#n})) --nodes=1 --ntasks=1 \
        --exclusive --nodelist="$node" --time=$((minutes + 2)) --chdir=/ --no-requeue \
        --output="$folder/private/log/$label" "${sbatch_flags[@]}" \
        "$folder/private/job" "$folder" "$sum" "$minutes" "$@" 2>&1 </dev/null); then
        printf '%s\n' "${job%%;*}" >"$folder/private/jobs/$label"
    else
        note "$label" failed 0 "$(tail -n 1 <<<"$job")"
    fi
}

# end_lost: records a failure for every job that left the queue without a state.
end_lost() {
    local queue file label job how
    # If the controller does not answer, nothing is known.
    queue=$(squeue --noheader --me --format=%F 2>/dev/null) || return 0
    for file in "$folder"/private/jobs/n*; do
        [[ -e $file ]] || continue
        label=${file##*/} job=$(<"$file")
        case $(state_of "$label") in done | failed) continue ;; esac
        ! grep --quiet --line-regexp -- "$job" <<<"$queue" || continue
        # It may have recorded its state meanwhile.
        case $(state_of "$label") in done | failed) continue ;; esac
        how=$(scontrol show job "$job" 2>/dev/null | sed -nE 's/.*JobState=([A-Z_]+).*/\1/p')
        note "$label" failed 0 "its job ended without a result: ${how:-Slurm no longer says why}"
    done
}

# submit_all RUN-FLAGS...: submits jobs for the nodes that need one.
submit_all() {
    local label node
    while IFS=$'\t' read -r label node <&3; do
        case $(state_of "$label") in
            done) ;;
            failed) [[ ! $resume ]] || submit "$label" "$node" "$@" ;;
            *) [[ -e $folder/private/jobs/$label ]] || submit "$label" "$node" "$@" ;;
        esac
    done 3<"$folder/private/hosts.map"
}

package='' folder='' partition=() minutes=30 resume='' sbatch_flags=() asked=''
while (($# > 0)); do
    case $1 in
        --package | --folder | --partition | --minutes | --sbatch)
            [[ ${2-} ]] || bad_usage "$1 needs a value"
            ;;&
        --package) package=$2 && shift 2 ;;
        --folder) folder=$2 && shift 2 ;;
        --partition) partition=("--partition=$2") && sbatch_flags+=("--partition=$2") && shift 2 ;;
        --minutes) require_count "$1" "$2" && minutes=$2 && shift 2 ;;
        --sbatch) sbatch_flags+=("$2") && shift 2 ;;
        --resume-failed) resume=yes && shift ;;
        --help | -h) usage && exit ;;
        --) shift && break ;;
        -*) bad_usage "unexpected '$1'" ;;
        *) asked+=${asked:+,}$1 && shift ;;
    esac
done
require_package "$package"
[[ $folder ]] || bad_usage "--folder is missing"
require_tool sbatch "Slurm; Debian's package is slurm-client"
if [[ $asked ]]; then
    nodes=$(scontrol show hostnames "$asked") || bad_usage "'$asked' are no nodes"
else
    nodes=$(sinfo --noheader --Node --format=%N "${partition[@]}") ||
        fail "$FAILED" "asking Slurm for its nodes: it says why above"
fi
mapfile -t hosts < <(sort -uV <<<"$nodes")
open_fleet "$folder"
mkdir -p -- "$folder/private/jobs"
label_hosts "${hosts[@]}"
unpack
write_job
end_lost
submit_all "$@"
until end_lost && [[ $(count_states) == *' 0 left' ]]; do
    show_progress
    sleep "$PAUSE"
done
show_fleet || exit "$FAILED"
