package bench

import (
	"errors"
	"fmt"

	"brigade/goroutine-brigade/internal/limits"
)

// The exit codes of every program.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitLimit       = 3
	exitInterrupted = 130
)

// usageError is a command line that cannot be followed.
type usageError string

func (e usageError) Error() string {
	return string(e)
}

func refused(format string, arguments ...any) error {
	return usageError(fmt.Sprintf(format, arguments...))
}

// exitCode is the one that this error asks for.
func exitCode(err error) int {
	var usage usageError
	var refusal *limits.Refusal
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &refusal):
		return exitLimit
	}
	return exitFailed
}
