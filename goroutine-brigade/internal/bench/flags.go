package bench

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"brigade/goroutine-brigade/internal/cpus"
)

// mostWorkers is the largest value of --workers, as in the other programs.
const mostWorkers = 1024

// policies are the values of --placement.
var policies = []string{free, sameCPU, spread}

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
}

// Flags are the values of all flags. What was not given and has no default is
// nil.
type Flags struct {
	tasks          uint32
	iters, warmups uint64
	maxTime        *float64
	workers        *int
	placement      string
	cpus           cpus.List
	command        *string
	histogram      *string
	quiet, json    bool
}

// option is one flag that takes a value.
type option struct {
	name  string
	value string
	// help is what --help says, in lines of at most 70 columns.
	help string
	set  func(text string) error
}

// options are those that take a value, in the order of --help.
func (f *Flags) options() []option {
	return []option{
		{"tasks", "N", fmt.Sprintf("How many goroutines [default: %d] [alias: --threads]", f.tasks),
			f.setTasks},
		{"iters", "N", fmt.Sprintf("How many iterations to measure [default: %d]", f.iters),
			func(text string) error { return setCount(&f.iters, text, 1) }},
		{"warmups", "N", fmt.Sprintf(
			"How many iterations to run first without measuring them\n[default: %d]", f.warmups),
			func(text string) error { return setCount(&f.warmups, text, 0) }},
		{"max-time", "SECONDS", "Start no further iteration after this many seconds of measuring;\n" +
			"the warm-up is held to the same", f.setMaxTime},
		{"workers", "N", "How many goroutines run at once (GOMAXPROCS); without it, one for\n" +
			"each CPU", f.setWorkers},
		{"placement", "POLICY", "Which CPUs the goroutines run on: free leaves it to the kernel,\n" +
			"same-cpu takes the first of the list; spread is refused, since a\n" +
			"goroutine cannot be pinned [default: free]", f.setPlacement},
		{"cpus", "LIST", "The CPUs that placement draws from, like 0,2-3; without it, all\n" +
			"that this process may use", f.setCPUs},
		{"command", "CMD", "Run this by `sh -c` while the goroutines are alive, {pid} replaced;\n" +
			"its failure is the program's", func(text string) error { f.command = &text; return nil }},
		{"histogram", "FILE", "Write the distribution to FILE as HdrHistogram percentile text, in\n" +
			"nanoseconds", func(text string) error { f.histogram = &text; return nil }},
	}
}

// switches are the flags without a value, with what --help says of them.
func (f *Flags) switches() map[string]*bool {
	return map[string]*bool{"quiet": &f.quiet, "json": &f.json}
}

func (f *Flags) setTasks(text string) error {
	var tasks uint64
	if err := setCount(&tasks, text, 1); err != nil {
		return err
	}
	if tasks > math.MaxUint32 {
		return fmt.Errorf("not between 1 and %d", uint32(math.MaxUint32))
	}
	f.tasks = uint32(tasks)
	return nil
}

func setCount(count *uint64, text string, least uint64) error {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || value < least {
		return fmt.Errorf("not a whole number from %d", least)
	}
	*count = value
	return nil
}

func (f *Flags) setMaxTime(text string) error {
	seconds, err := strconv.ParseFloat(text, 64)
	// More seconds than these are beyond the clock.
	if err != nil || !(seconds > 0 && seconds < math.MaxInt64/1e9) {
		return errors.New("not a number of seconds above 0")
	}
	f.maxTime = &seconds
	return nil
}

func (f *Flags) setWorkers(text string) error {
	workers, err := strconv.Atoi(text)
	if err != nil || workers < 1 || workers > mostWorkers {
		return fmt.Errorf("not between 1 and %d", mostWorkers)
	}
	f.workers = &workers
	return nil
}

func (f *Flags) setPlacement(text string) error {
	if !slices.Contains(policies, text) {
		return fmt.Errorf("not one of %s", strings.Join(policies, ", "))
	}
	f.placement = text
	return nil
}

func (f *Flags) setCPUs(text string) (err error) {
	f.cpus, err = cpus.Parse(text)
	return err
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
	return &Flags{
		tasks: defaults.Tasks, iters: defaults.Iters, warmups: defaults.Warmups, placement: free,
	}
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
		"subcommand": subcommand,
		"tasks":      f.tasks, "iters": f.iters, "warmups": f.warmups, "max_time": f.maxTime,
		"workers": f.workers, "placement": f.placement, "command": f.command,
		"histogram": f.histogram, "quiet": f.quiet, "json": f.json,
	}
	parameters := map[string]json.RawMessage{"cpus": f.cpus.Text()}
	for name, value := range values {
		// Numbers, texts and truth values always have a JSON form.
		parameters[name], _ = json.Marshal(value)
	}
	return parameters
}
