# Completions for bash, by the binary itself.
source <(COMPLETE=bash brigade)
