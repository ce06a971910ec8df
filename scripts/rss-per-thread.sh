#!/usr/bin/env bash
# Resident memory per thread: the slope of a line over counts, which excludes the
# process's fixed memory.
set -euo pipefail

# shellcheck source=measure.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/measure.bash"

# from, to and step, then the program and its flags.
resident_memory_per thread 100 1000 50 "$@" -- thread-brigade
