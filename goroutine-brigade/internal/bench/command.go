package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// runCommand runs line by sh -c, {pid} replaced by this process's id, and
// waits for it. With toStderr its standard output goes to ours of errors,
// which leaves standard output to the record.
func runCommand(line string, toStderr bool) error {
	line = strings.ReplaceAll(line, "{pid}", strconv.Itoa(os.Getpid()))
	command := exec.Command("sh", "-c", line)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if toStderr {
		command.Stdout = os.Stderr
	}
	err := command.Run()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status):
		// Go calls it "exit status 7", the other programs "exit status: 7".
		what := strings.Replace(status.Error(), "status ", "status: ", 1)
		return fmt.Errorf("--command '%s' failed: %s", line, what)
	case err != nil:
		return fmt.Errorf("--command: starting sh for '%s': %w", line, err)
	}
	return nil
}
