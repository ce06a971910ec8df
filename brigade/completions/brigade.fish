# Completions for fish, by the binary itself.
COMPLETE=fish brigade | source
