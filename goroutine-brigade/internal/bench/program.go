package bench

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

const (
	// name is the program's, as its folder's.
	name = "goroutine-brigade"
	// version is that of the workspace.
	version = "0.1.0"
)

// Program is one thing that can be measured.
type Program struct {
	// Subcommand selects it; empty for the one that runs without.
	Subcommand string
	// About is what --help says, in lines of at most 80 columns.
	About string
	// Defaults are the numbers of flags that are not given.
	Defaults Defaults
	// Body sets up the tasks and runs the laps.
	Body func(*Bench) error
}

// Run runs a program from its command line to its exit code. What was measured
// is printed also when the program fails or is interrupted.
func (p *Program) Run(arguments []string) int {
	// Notified of it, the process is not killed when a reader has gone: the
	// write fails, and show takes that for an end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	flags, err := parseFlags(p.Defaults, arguments)
	switch {
	case errors.Is(err, errHelp):
		return told(p.help())
	case errors.Is(err, errVersion):
		return told(name + " " + version + "\n")
	case err != nil:
		return Complain(err)
	}
	code, err := p.measure(flags)
	if err != nil {
		return Complain(err)
	}
	return code
}

// Refuse says that the command line cannot be followed, and returns the exit
// code.
func Refuse(format string, arguments ...any) int {
	return Complain(refused(format, arguments...))
}

// Complain says one line on standard error and returns the exit code.
func Complain(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, shown(err.Error()))
	return exitCode(err)
}

func (p *Program) help() string {
	usage := fmt.Sprintf("Usage: %s [OPTIONS]", strings.TrimSpace(name+" "+p.Subcommand))
	return p.About + "\n" + usage + "\n\n" + withDefaults(p.Defaults).help()
}

// measure does what the flags ask for. An error is one that has not been told.
func (p *Program) measure(flags *Flags) (int, error) {
	histogram, err := createHistogram(flags)
	if err != nil {
		return 0, err
	}
	if histogram != nil {
		defer histogram.Close()
	}
	bench := &Bench{flags: flags}
	if bench.cpus, err = place(flags); err != nil {
		return 0, err
	}
	bench.setWorkers()
	bench.watchSignals()

	failure := p.Body(bench)
	if bench.Interrupted() {
		failure = nil
	}
	if failure != nil {
		Complain(failure)
	}
	if bench.findings.iterations > 0 {
		err = p.report(bench, histogram, failure)
	} else if bench.Interrupted() {
		err = errors.New("interrupted before the first measured iteration")
	}
	if bench.Interrupted() {
		if err != nil {
			Complain(err)
		}
		return exitInterrupted, nil
	}
	return exitCode(failure), err
}

// createHistogram opens the file of --histogram before anything is measured.
func createHistogram(flags *Flags) (*os.File, error) {
	if flags.histogram == nil {
		return nil, nil
	}
	file, err := os.Create(*flags.histogram)
	if err != nil {
		return nil, refused("--histogram %s: cannot write there: %s", *flags.histogram, cause(err))
	}
	return file, nil
}

// setWorkers sets GOMAXPROCS. By default that is one for each CPU that the
// placement left: the runtime has counted those of the start.
func (b *Bench) setWorkers() {
	b.workers = len(b.cpus)
	if b.flags.workers != nil {
		b.workers = *b.flags.workers
	}
	runtime.GOMAXPROCS(b.workers)
}

// watchSignals notes the first SIGINT or SIGTERM, which ends the laps, and
// ends the process on the second, for a lap that never ends.
func (b *Bench) watchSignals() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		b.interrupted.Store(true)
		<-signals
		os.Exit(exitInterrupted)
	}()
}
