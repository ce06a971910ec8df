package bench

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"brigade/goroutine-brigade/internal/cpus"
)

// errHelp and errVersion ask for text instead of a measurement.
var (
	errHelp    = errors.New("help")
	errVersion = errors.New("version")
)

// Defaults are the numbers of flags that are not given.
type Defaults struct {
	// Tasks, that is goroutines.
	Tasks uint32
	// Iters are the measured iterations.
	Iters uint64
	// Warmups are run first and not measured.
	Warmups uint64
	// Works tells whether --work is offered.
	Works bool
	// Steps are the counts of a program that sweeps the number of tasks; of
	// others 0. Such a program has no iterations to time.
	Steps uint64
}

// Flags are the values of all flags. What was not given and has no default is
// nil.
type Flags struct {
	tasks          uint32
	iters, warmups uint64
	steps          uint64
	work           *uint64
	maxTime        *float64
	longestWarmup  int64 // nanoseconds
	workers        *int
	placement      string
	cpus           cpus.List
	command        *string
	histogram      *string
	quiet, json    bool
}

// switches are the flags without a value, with what --help says of them.
func (f *Flags) switches() map[string]*bool {
	return map[string]*bool{"quiet": &f.quiet, "json": &f.json}
}

// parseFlags reads a command line. An error is a usageError, errHelp or
// errVersion.
func parseFlags(defaults Defaults, arguments []string) (*Flags, error) {
	flags := withDefaults(defaults)
	set := flag.NewFlagSet("", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}

	// The flag package wraps what a value is refused for in words of its own.
	var wrong error
	given := map[string]bool{}
	for _, option := range flags.options() {
		use := func(text string) error {
			if given[option.name] {
				wrong = refused("--%s is given twice (try --help)", option.name)
			} else if err := option.set(text); err != nil {
				wrong = refused("--%s %s: %v (try --help)", option.name, text, err)
			}
			given[option.name] = true
			return wrong
		}
		set.Func(option.name, "", use)
		if option.name == "tasks" {
			set.Func("threads", "", use)
		}
	}
	for name, value := range flags.switches() {
		set.BoolVar(value, name, false, "")
	}
	version := set.Bool("version", false, "")
	set.BoolVar(version, "V", false, "")

	err := set.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, errHelp
	case wrong != nil:
		return nil, wrong
	case err != nil:
		return nil, refused("%s (try --help)", plainly(err.Error()))
	case *version:
		return nil, errVersion
	case set.NArg() > 0:
		return nil, refused("unexpected argument '%s' (try --help)", set.Arg(0))
	case flags.steps > uint64(flags.tasks):
		return nil, refused("--steps %d: there are only %d tasks", flags.steps, flags.tasks)
	}
	return flags, nil
}

// plainly says in the words of the other messages what the flag package, whose
// messages end in a flag's name, found wrong.
func plainly(message string) string {
	what, name, _ := strings.Cut(message, ": -")
	switch what {
	case "flag provided but not defined":
		return fmt.Sprintf("--%s: there is no such flag", name)
	case "flag needs an argument":
		return fmt.Sprintf("--%s: needs a value", name)
	}
	return message
}

func withDefaults(defaults Defaults) *Flags {
	flags := &Flags{
		tasks: defaults.Tasks, iters: defaults.Iters, warmups: defaults.Warmups,
		steps: defaults.Steps, placement: free, longestWarmup: 2e9,
	}
	if defaults.Works {
		flags.work = new(uint64)
	}
	return flags
}

// help lists the flags for --help.
func (f *Flags) help() string {
	var text strings.Builder
	text.WriteString("Options:\n")
	for _, option := range f.options() {
		fmt.Fprintf(&text, "      --%s <%s>\n", option.name, option.value)
		for line := range strings.Lines(option.help) {
			text.WriteString("          " + line)
		}
		text.WriteString("\n\n")
	}
	text.WriteString(`      --quiet
          Print no summary and no progress

      --json
          Print one JSON record instead of the summary

  -h, --help
          Print help

  -V, --version
          Print version
`)
	return text.String()
}

// parameters are the flags' values as the record tells them.
func (f *Flags) parameters(subcommand string) map[string]json.RawMessage {
	values := map[string]any{
		"tasks": f.tasks, "workers": f.workers, "placement": f.placement,
		"command": f.command, "quiet": f.quiet, "json": f.json,
	}
	if subcommand != "" {
		values["subcommand"] = subcommand
	}
	if f.work != nil {
		values["work"] = *f.work
	}
	if f.steps > 0 {
		values["steps"] = f.steps
	} else {
		values["iters"], values["warmups"], values["max_time"] = f.iters, f.warmups, f.maxTime
		values["histogram"] = f.histogram
	}
	parameters := map[string]json.RawMessage{"cpus": f.cpus.Text()}
	for name, value := range values {
		// Numbers, texts and truth values always have a JSON form.
		parameters[name], _ = json.Marshal(value)
	}
	return parameters
}
