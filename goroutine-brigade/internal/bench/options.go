package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brigade/goroutine-brigade/internal/cpus"
)

// mostWorkers is the largest value of --workers, as in the other programs.
const mostWorkers = 1024

// The values of --steps: a slope with an interval takes three points, and more
// than a thousand tell nothing.
const (
	fewestSteps = 3
	mostSteps   = 1000
)

// mostWork is the largest value of --work, as in the other programs.
const mostWork = 1_000_000_000

// policies are the values of --placement.
var policies = []string{free, sameCPU, spread}

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
	tasks := option{"tasks", "N",
		fmt.Sprintf("How many goroutines [default: %d] [alias: --threads]", f.tasks), f.setTasks}
	if f.steps > 0 {
		steps := option{"steps", "N", fmt.Sprintf(
			"At how many counts to read the memory, in equal steps [default: %d]", f.steps),
			f.setSteps}
		return append([]option{tasks, steps}, f.commonOptions()...)
	}
	own := []option{tasks}
	if f.work != nil {
		own = append(own, option{"work", "UNITS",
			"Units of work that whoever sends the token does before, at every\n" +
				"hop; how long a unit takes here is measured before the laps\n" +
				"and after [default: 0]", f.setWork})
	}
	return append(append(own, f.timingOptions()...), f.commonOptions()...)
}

// timingOptions are those of programs that time iterations.
func (f *Flags) timingOptions() []option {
	return []option{
		{"iters", "N", fmt.Sprintf("How many iterations to measure [default: %d]", f.iters),
			func(text string) error { return setCount(&f.iters, text, 1) }},
		{"warmups", "N", fmt.Sprintf(
			"How many iterations to run first without measuring them; without\n"+
				"it, as many of the default as begin within 2 seconds [default: %d]", f.warmups),
			f.setWarmups},
		{"max-time", "SECONDS", "Start no further iteration after this many seconds of measuring;\n" +
			"the warm-up is held to the same", f.setMaxTime},
		{"histogram", "FILE", "Write the distribution to FILE as HdrHistogram percentile text, in\n" +
			"nanoseconds", func(text string) error { f.histogram = &text; return nil }},
	}
}

// commonOptions are those of all programs.
func (f *Flags) commonOptions() []option {
	return []option{
		{"workers", "N", "How many goroutines run at once (GOMAXPROCS); without it, one for\n" +
			"each CPU", f.setWorkers},
		{"placement", "POLICY", "Which CPUs the goroutines run on: free leaves it to the kernel,\n" +
			"same-cpu takes the first of the list; spread is refused, since a\n" +
			"goroutine cannot be pinned [default: free]", f.setPlacement},
		{"cpus", "LIST", "The CPUs that placement draws from, like 0,2-3; without it, all\n" +
			"that this process may use", f.setCPUs},
		{"command", "CMD", "Run this by `sh -c` while the goroutines are alive, {pid} replaced;\n" +
			"its failure is the program's", func(text string) error { f.command = &text; return nil }},
	}
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

func (f *Flags) setWork(text string) error {
	units, err := strconv.ParseUint(text, 10, 64)
	if err != nil || units > mostWork {
		return fmt.Errorf("not a whole number up to %d", mostWork)
	}
	*f.work = units
	return nil
}

func (f *Flags) setSteps(text string) error {
	err := setCount(&f.steps, text, fewestSteps)
	if err != nil || f.steps > mostSteps {
		return fmt.Errorf("not between %d and %d", fewestSteps, mostSteps)
	}
	return nil
}

// setWarmups lets a warm-up whose length is given take as long as it does.
func (f *Flags) setWarmups(text string) error {
	f.longestWarmup = math.MaxInt64 / 2
	return setCount(&f.warmups, text, 0)
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
