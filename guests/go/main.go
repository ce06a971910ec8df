// Goroutine-brigade measures the cost of goroutines: hand-overs, channels, creation,
// a lock, memory, timers and wake-ups, each as a subcommand. It prints laps, as
// docs/PROTOCOL.md describes them.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The exit codes of docs/PROTOCOL.md.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitInterrupted = 130
)

// Without --warmups, a warm-up takes at least this many laps and this time, and
// starts none after longestWarmup.
const (
	fewestWarmups  = 3
	shortestWarmup = 20 * time.Millisecond
	longestWarmup  = 2 * time.Second
)

// bytesPerTask is the approximate memory of a goroutine, with its stack and channel.
const bytesPerTask = 3 << 10

// mostLaps is the most lap times that the runner accepts.
const mostLaps = 1_000_000

// program is one measurement.
type program struct {
	about string
	// Default values of flags.
	tasks, iters, warmups int
	works, waits, wakes   bool
	locks, sends, arms    bool
	wakesAll              bool
	measure               func(*run) error
}

var programs = map[string]program{"brigade": brigade, "channel": channel, "creation": creation, "lock": lock, "memory": memory, "timer": timer, "wake": wake, "wake-all": wakeAll}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(os.Args[2:]); err != nil {
			warn(err)
			os.Exit(exitFailed)
		}
		return
	}
	run := &run{marks: os.Stdout, answers: bufio.NewReader(os.Stdin)}
	signals := make(chan os.Signal, 2)
	// SIGTERM ends this process at once, however many goroutines are about to run.
	signal.Notify(signals, syscall.SIGINT)
	go func() {
		<-signals
		run.interrupted.Store(true)
		<-signals
		os.Exit(exitInterrupted)
	}()
	os.Exit(run.execute(os.Args[1:]))
}

// execute runs a command line and returns the exit code. It prints the
// measurements even if the run fails or is interrupted.
func (r *run) execute(arguments []string) int {
	program, err := r.parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		warn(err)
		return exitUsage
	}
	if err := r.tooMany(); err != nil {
		warn(err)
		return exitRefused
	}
	failure := program.measure(r)
	if failure != nil {
		warn(failure)
	}
	if err := r.print(failure); err != nil {
		warn(err)
		failure = err
	}
	switch {
	case r.interrupted.Load():
		return exitInterrupted
	case failure != nil:
		return exitFailed
	}
	return exitDone
}

// tooMany names the goroutines or timers that do not fit: they exhaust the machine before the
// process.
func (r *run) tooMany() error {
	fit := fields("/proc/meminfo")["MemAvailable"]
	refuse := func(flag string, count, bytes int) error {
		return fmt.Errorf("--%s %d: %d bytes of memory are available, and each takes %d: use fewer",
			flag, count, *fit, bytes)
	}
	switch {
	case fit == nil:
		return nil
	case uint64(r.tasks) > *fit/bytesPerTask/uint64(max(1, r.rings)):
		return refuse("tasks", r.tasks, bytesPerTask)
	case uint64(r.pending) > *fit/bytesPerTimer:
		return refuse("pending", r.pending, bytesPerTimer)
	}
	return nil
}

func warn(err error) {
	fmt.Fprintf(os.Stderr, "goroutine-brigade: %v\n", err)
}

// parse reads the command line: an optional subcommand, and flags.
func (r *run) parse(arguments []string) (program, error) {
	name := "brigade"
	if len(arguments) > 0 && arguments[0][:min(1, len(arguments[0]))] != "-" {
		name, arguments = arguments[0], arguments[1:]
	}
	program, known := programs[name]
	if !known {
		return program, fmt.Errorf("unknown sub-command %q; known: %s", name,
			strings.Join(slices.Sorted(maps.Keys(programs)), ", "))
	}
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&r.tasks, "tasks", program.tasks, "how many `goroutines`")
	flags.IntVar(&r.tasks, "threads", program.tasks, "another name for --tasks `N`")
	flags.IntVar(&r.iters, "iters", program.iters, "how many `laps` to measure")
	flags.IntVar(&r.warmups, "warmups", program.warmups,
		"how many `laps` to run before; without it, and if any, for 20 ms at least")
	seconds := flags.Float64("max-time", 0, "begin no lap after so many `seconds`; 0 is no limit")
	workers := flags.Int("workers", runtime.GOMAXPROCS(0),
		"how many goroutines run at once (`GOMAXPROCS`)")
	if program.works {
		flags.Uint64Var(&r.load.work.units, "work", 0, "`units` of work before each send")
		flags.Uint64Var(&r.load.workingSet, "working-set", 0,
			"`bytes` of its own that each goroutine reads and writes before each send")
		flags.Uint64Var(&r.load.stride, "stride", defaultStride,
			"`bytes` from one word that is touched to the next")
		flags.IntVar(&r.rings, "rings", 0, "how many `brigades` run at once, each of --tasks goroutines")
	}
	if program.locks {
		flags.Uint64Var(&r.load.work.units, "inside", 0, "`units` of work with the lock held")
		flags.Uint64Var(&r.outside, "outside", 0, "`units` of work after its release")
	}
	if program.sends {
		flags.Uint64Var(&r.load.work.units, "work", 0, "`units` of work of a consumer for each message")
		flags.IntVar(&r.channel.producers, "producers", 1, "`goroutines` that send")
		flags.IntVar(&r.channel.consumers, "consumers", 1, "`goroutines` that receive")
		flags.IntVar(&r.channel.capacity, "capacity", 64, "how many `messages` the channel holds")
		flags.IntVar(&r.channel.message, "message", 64, "size of a message, in `bytes`: 8, 64 or 1024")
	}
	if program.arms {
		flags.IntVar(&r.pending, "pending", 1000, "how many `timers` are pending meanwhile")
	}
	if program.waits {
		flags.StringVar(&r.waiting, "waiting", waitingChannel,
			"what each goroutine waits for: `channel` or timer")
	}
	if program.wakes {
		flags.IntVar(&r.wake.rate, "rate", 10_000, "wake-ups a second, of all goroutines `together`")
		flags.StringVar(&r.wake.source, "source", "channel", "what wakes: timer or `channel`")
		flags.IntVar(&r.wake.wakers, "wakers", 1, "`threads` that wake goroutines by channel")
		flags.IntVar(&r.wake.hogs, "hogs", 0, "`processes` that only take CPU time")
		flags.IntVar(&r.wake.greedy, "greedy", 0, "`goroutines` next to the others that compute and rarely yield")
		flags.IntVar(&r.wake.greedyFor, "greedy-for", 10_000, "`microseconds` that a greedy goroutine computes before it yields")
	}
	if program.wakesAll {
		flags.StringVar(&r.by, "by", "close", "what wakes all: `close` of a channel, or cond, a sync.Cond")
	}
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(r.marks)
		fmt.Fprintf(r.marks, "%s\nUsage: goroutine-brigade %s [FLAGS]\n\n", program.about, name)
		flags.PrintDefaults()
		return program, err
	}
	r.limit = time.Duration(*seconds * 1e9)
	r.warmupLimit = r.limit
	given := map[string]any{}
	flags.Visit(func(set *flag.Flag) { given[set.Name] = set.Value.(flag.Getter).Get() })
	if _, chosen := given["warmups"]; !chosen && program.warmups > 0 {
		r.warmupTime = shortestWarmup
		if r.limit == 0 || r.limit > longestWarmup {
			r.warmupLimit = longestWarmup
		}
	}
	if program.sends {
		r.tasks = r.channel.producers + r.channel.consumers
	}
	switch {
	case err != nil:
	case program.sends && (given["tasks"] != nil || given["threads"] != nil):
		err = errors.New("--tasks: give --producers and --consumers instead")
	case program.sends && r.channel.check() != nil:
		err = r.channel.check()
	case program.arms && (given["tasks"] != nil || given["threads"] != nil):
		err = errors.New("--tasks: one goroutine arms all timers; give --pending instead")
	case program.arms && checkPending(r.pending) != nil:
		err = checkPending(r.pending)
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case r.tasks < 1:
		err = fmt.Errorf("--tasks %d: not a number from 1", r.tasks)
	case r.iters < 1 || r.iters > mostLaps:
		err = fmt.Errorf("--iters %d: not between 1 and %d", r.iters, mostLaps)
	case r.warmups < 0 || r.warmups > mostLaps:
		err = fmt.Errorf("--warmups %d: not between 0 and %d", r.warmups, mostLaps)
	case !(*seconds >= 0 && *seconds <= 1e9):
		err = fmt.Errorf("--max-time %v: not a number of seconds", *seconds)
	case *workers < 1:
		err = fmt.Errorf("--workers %d: not a number from 1", *workers)
	case max(r.load.work.units, r.outside) > 1_000_000_000:
		err = fmt.Errorf("%d units of work: not a number up to 1000000000", max(r.load.work.units, r.outside))
	case r.load.workingSet > mostBytes:
		err = fmt.Errorf("--working-set %d: not a number up to %d", r.load.workingSet, mostBytes)
	case program.works && (r.load.stride < wordBytes || r.load.stride > mostBytes):
		err = fmt.Errorf("--stride %d: not between %d and %d", r.load.stride, wordBytes, mostBytes)
	case given["rings"] != nil && (r.rings < 1 || r.rings > mostRings):
		err = fmt.Errorf("--rings %d: not between 1 and %d", r.rings, mostRings)
	case r.rings > 1 && r.iters > mostLaps/(r.rings+1):
		err = fmt.Errorf("--iters %d: of %d rings at most %d", r.iters, r.rings, mostLaps/(r.rings+1))
	case program.waits && r.waiting != waitingChannel && r.waiting != waitingTimer:
		err = fmt.Errorf("--waiting %q: neither %s nor %s", r.waiting, waitingChannel, waitingTimer)
	case program.wakes && r.wake.check(r.tasks) != nil:
		err = r.wake.check(r.tasks)
	case program.wakesAll && r.by != "close" && r.by != "cond":
		err = fmt.Errorf("--by %q: neither close nor cond", r.by)
	case name == "memory" && r.tasks < 2*(r.iters+r.warmups):
		err = fmt.Errorf("--tasks %d: %d readings need %d or more", r.tasks,
			r.iters+r.warmups, 2*(r.iters+r.warmups))
	}
	runtime.GOMAXPROCS(max(1, *workers))
	r.workers = *workers
	r.report.Parameters = map[string]any{
		"subcommand": name, "tasks": r.tasks, "iters": r.iters, "warmups": given["warmups"],
		"max_time": given["max-time"], "workers": given["workers"],
	}
	r.works = program.works || program.locks || program.sends
	if program.works {
		r.report.Parameters["work"] = r.load.work.units
		r.report.Parameters["working_set"] = r.load.workingSet
		r.report.Parameters["stride"] = given["stride"]
		r.report.Parameters["rings"] = given["rings"]
	}
	if program.sends {
		r.report.Parameters["producers"] = r.channel.producers
		r.report.Parameters["consumers"] = r.channel.consumers
		r.report.Parameters["capacity"] = r.channel.capacity
		r.report.Parameters["message"] = r.channel.message
		r.report.Parameters["work"] = r.load.work.units
	}
	if program.arms {
		r.report.Parameters["pending"] = r.pending
	}
	if program.locks {
		r.report.Parameters["inside"] = r.load.work.units
		r.report.Parameters["outside"] = r.outside
	}
	if program.waits {
		r.report.Parameters["waiting"] = r.waiting
	}
	if program.wakesAll {
		r.report.Parameters["by"] = r.by
	}
	if program.wakes {
		r.report.Parameters["rate"] = r.wake.rate
		r.report.Parameters["source"] = r.wake.source
		r.report.Parameters["wakers"] = given["wakers"]
		r.report.Parameters["hogs"] = given["hogs"]
		r.report.Parameters["greedy"] = given["greedy"]
		r.report.Parameters["greedy_for"] = given["greedy-for"]
	}
	return program, err
}
