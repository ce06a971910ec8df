#!/usr/bin/env bash
# Resident memory per async task: the slope of a line over counts, which excludes the
# process's fixed memory.
set -euo pipefail

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# from, to and step, then the program and its flags.
resident_memory_per task 1000 10000 500 "$@" -- async-brigade --runtime tokio-current-thread
