// Goroutine-brigade measures what goroutines cost: a hand-over, creation and
// memory, each as a sub-command with the flags and the record of the other
// programs. Without a sub-command it is the brigade.
package main

import (
	"os"
	"strings"

	"brigade/goroutine-brigade/internal/bench"
)

// programs are the sub-commands, the default first.
var programs = []*bench.Program{&brigade, &creation, &memory}

func main() {
	os.Exit(run(os.Args[1:]))
}

// run obeys a command line and returns the exit code.
func run(arguments []string) int {
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "-") {
		return programs[0].Run(arguments)
	}
	var known []string
	for _, program := range programs {
		if program.Subcommand == arguments[0] {
			return program.Run(arguments[1:])
		}
		known = append(known, program.Subcommand)
	}
	return bench.Refuse("unknown sub-command '%s'; known: %s (try --help)",
		arguments[0], strings.Join(known, ", "))
}
