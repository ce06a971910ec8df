package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"brigade/goroutine-brigade/internal/record"
)

// report writes the histogram and prints the record or the summary: each of
// them also when the other cannot be written. A histogram that cannot be is a
// failure of the run, and the record says so.
func (p *Program) report(bench *Bench, histogram *os.File, failure error) error {
	written := writeHistogram(histogram, bench.findings.samples)
	if failure == nil && !bench.Interrupted() {
		failure = written
	}
	record, err := p.record(bench, failure)
	if err != nil {
		return err
	}
	return errors.Join(printRecord(bench.flags, record), written)
}

func writeHistogram(file *os.File, found []*samples) error {
	if file == nil {
		return nil
	}
	if _, err := file.WriteString(found[0].percentileText()); err != nil {
		return fmt.Errorf("--histogram: writing the distribution: %s", cause(err))
	}
	return nil
}

func printRecord(flags *Flags, record *record.Record) error {
	switch {
	case flags.json:
		text, err := json.Marshal(record)
		if err != nil {
			return fmt.Errorf("--json: writing the record: %w", err)
		}
		return show(string(text) + "\n")
	case flags.quiet:
		return nil
	}
	return show(record.Summary())
}

// show prints to standard output. A reader that has gone away has seen what
// it wanted.
func show(text string) error {
	if _, err := os.Stdout.WriteString(text); err != nil && !errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("writing to standard output: %s", cause(err))
	}
	return nil
}

// cause is what the kernel says, without the name of the file, which the
// caller names, in the form that the other programs print.
func cause(err error) string {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	text := number.Error()
	return fmt.Sprintf("%s%s (os error %d)", strings.ToUpper(text[:1]), text[1:], int(number))
}

// told prints text that was asked for, and returns the exit code.
func told(text string) int {
	if err := show(text); err != nil {
		return Complain(err)
	}
	return exitDone
}
