// Goroutine-brigade measures what goroutines cost: a hand-over, creation and
// memory, each as a sub-command with the flags and the record of the other
// programs. Without a sub-command it is the brigade.
package main

import (
	"os"
	"strings"

	"brigade/goroutine-brigade/internal/bench"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run obeys a command line and returns the exit code.
func run(arguments []string) int {
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "-") {
		return brigade.Run(arguments)
	}
	switch arguments[0] {
	case "brigade":
		return brigade.Run(arguments[1:])
	case creation.Subcommand:
		return creation.Run(arguments[1:])
	case memory.Subcommand:
		return memory.Run(arguments[1:])
	}
	return bench.Refuse("unknown sub-command '%s'; known: brigade, creation, memory (try --help)",
		arguments[0])
}
