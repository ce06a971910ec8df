#!/usr/bin/env bash
# Resident memory per task: the slope of a line over counts, which excludes the
# process's fixed memory.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: rss-per-task.sh [--from N] [--to N] [--step N]

Runs async-brigade with a growing number of tasks, each waiting in a read,
reads the process's memory with pmap, and fits a line: its slope is the memory
per task. Prints tab-separated values, then the line. If a limit refuses a
count, the table ends there, and the line is fitted to the others.

  --from N   first number of tasks [default: 1000]
  --to N     last number of tasks at most [default: 10000]
  --step N   step between the numbers [default: 500]
  --help     show this

Examples:
  scripts/rss-per-task.sh
  scripts/rss-per-task.sh --from 100 --to 1000 --step 100 > rss.tsv

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit refused, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

from=1000 to=10000 step=500
while (($# > 0)); do
    case $1 in
        --from | --to | --step) require_count "$1" "${2-}" && declare "${1#--}=$2" && shift 2 ;;
        --help | -h) usage && exit ;;
        *) bad_usage "'$1' is not a flag of this script" ;;
    esac
done

report_resident_memory task "$from" "$to" "$step" async-brigade \
    --runtime tokio-current-thread
