package bench

import (
	"errors"
	"strings"
	"testing"
)

var defaults = Defaults{Tasks: 5, Iters: 6, Warmups: 7}

func parse(line string) (*Flags, error) {
	return parseFlags(defaults, strings.Fields(line))
}

func TestFlagsTakeTheirValueEitherWay(t *testing.T) {
	for _, line := range []string{"--tasks 3 --cpus 0,2", "--tasks=3 --cpus=0,2", "--threads 3 --cpus 0,2"} {
		flags, err := parse(line)
		if err != nil || flags.tasks != 3 || flags.cpus.String() != "0,2" || flags.iters != 6 {
			t.Errorf("%s: %+v, %v", line, flags, err)
		}
	}
}

func TestARefusalNamesTheFlagAndTheReason(t *testing.T) {
	for line, want := range map[string]string{
		"--tasks 0":             "--tasks 0: not a whole number from 1 (try --help)",
		"--tasks 4294967296":    "--tasks 4294967296: not between 1 and 4294967295 (try --help)",
		"--max-time NaN":        "--max-time NaN: not a number of seconds above 0 (try --help)",
		"--iters 1 --iters 1":   "--iters is given twice (try --help)",
		"--tasks 1 --threads 1": "--tasks is given twice (try --help)",
		"--tasks":               "--tasks: needs a value (try --help)",
		"--tokens 3":            "--tokens: there is no such flag (try --help)",
		"--quiet yes":           "unexpected argument 'yes' (try --help)",
	} {
		var usage usageError
		if _, err := parse(line); !errors.As(err, &usage) || err.Error() != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestHelpNamesEveryFlagIn80Columns(t *testing.T) {
	for _, defaults := range []Defaults{defaults, {Tasks: 5, Steps: 5}, {Tasks: 5, Works: true}} {
		flags := withDefaults(defaults)
		text := flags.help()
		for name := range flags.parameters("") {
			flag := "--" + strings.ReplaceAll(name, "_", "-")
			if !strings.Contains(text, flag) {
				t.Errorf("%s is not in the help", flag)
			}
		}
		for line := range strings.Lines(text) {
			if len(line) > 81 {
				t.Errorf("too wide: %s", line)
			}
		}
	}
}

func TestWhatWasNotGivenIsNull(t *testing.T) {
	flags, _ := parse("")
	for _, name := range []string{"max_time", "workers", "cpus", "command", "histogram"} {
		if value := string(flags.parameters("")[name]); value != "null" {
			t.Errorf("%s is %s", name, value)
		}
	}
}
