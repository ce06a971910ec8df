#!/usr/bin/env bash
# Resident memory per thread: the slope of a line over counts, which excludes the
# process's fixed memory.
set -euo pipefail

usage() {
    cat <<'EOF'
Usage: rss-per-thread.sh [--from N] [--to N] [--step N]

Runs thread-brigade with a growing number of threads, each waiting in a read,
reads the process's memory with pmap, and fits a line: its slope is the memory
per thread. Prints tab-separated values, then the line. If a limit refuses a
count, the table ends there, and the line is fitted to the others.

  --from N   first number of threads [default: 100]
  --to N     last number of threads at most [default: 1000]
  --step N   step between the numbers [default: 50]
  --help     show this

Examples:
  scripts/rss-per-thread.sh
  scripts/rss-per-thread.sh --from 1000 --to 5000 --step 1000 > rss.tsv

Exit codes: 0 done, 1 failed, 2 usage, 3 a limit refused, 130 interrupted.
EOF
}

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

from=100 to=1000 step=50
while (($# > 0)); do
    case $1 in
        --from | --to | --step) require_count "$1" "${2-}" && declare "${1#--}=$2" && shift 2 ;;
        --help | -h) usage && exit ;;
        *) bad_usage "'$1' is not a flag of this script" ;;
    esac
done

report_resident_memory thread "$from" "$to" "$step" thread-brigade
