package main

import (
	"encoding/json"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// trace is where each goroutine of a brigade had the token, as harness/trace.schema.json
// describes it. The runner adds the switches, which it records.
type trace struct {
	SchemaVersion string            `json:"schema_version"`
	Pid           int               `json:"pid"`
	WholeMachine  bool              `json:"whole_machine"`
	Laps          []tracedLap       `json:"laps"`
	Spans         [1]recordedSpan   `json:"spans"`
	Switches      []struct{}        `json:"switches"`
	Names         map[string]string `json:"names"`

	file string
	// From our clock to the kernel's.
	offset int64
	lap    []stop
}

type tracedLap struct {
	Stops []stop `json:"stops"`
}

// stop is a moment at which a goroutine had the token; task is nil for the driver.
type stop struct {
	Task *int  `json:"task"`
	Tid  int   `json:"tid"`
	CPU  int   `json:"cpu"`
	AtNs int64 `json:"at_ns"`
}

type recordedSpan struct {
	BegunNs int64 `json:"begun_ns"`
	EndedNs int64 `json:"ended_ns"`
	Counted int64 `json:"counted"`
}

// getcpu is the number of that system call.
var getcpu = map[string]uintptr{"amd64": 309, "arm64": 168}[runtime.GOARCH]

func newTrace(file string) *trace {
	ours, begun, count := counted()
	t := &trace{
		SchemaVersion: "1.0", Pid: os.Getpid(), Switches: []struct{}{}, Names: map[string]string{},
		file: file, offset: begun - ours,
	}
	t.Spans[0].BegunNs, t.Spans[0].Counted = begun, -count
	return t
}

// counted is the time of our clock and of the kernel's, and the switches of this process until
// then. A switch between the readings would be on one side only.
func counted() (ours, kernels, switches int64) {
	const self, monotonic = syscall.RUSAGE_SELF, 1
	var before, after syscall.Rusage
	var time syscall.Timespec
	for {
		_ = syscall.Getrusage(self, &before)
		from := now()
		syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&time)), 0)
		ours = (from + now()) / 2
		_ = syscall.Getrusage(self, &after)
		if before.Nvcsw+before.Nivcsw == after.Nvcsw+after.Nivcsw {
			return ours, time.Nano(), after.Nvcsw + after.Nivcsw
		}
	}
}

// note notes who has the token. One goroutine at a time has it.
func (t *trace) note(task *int) {
	var cpu uint32
	syscall.RawSyscall(getcpu, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	t.lap = append(t.lap, stop{task, int(tid), int(cpu), now() + t.offset})
}

// relay is the relay of a brigade that is traced.
func (t *trace) relay(
	task int, upstream <-chan uint64, downstream chan<- uint64, station station, _ chan<- error,
) {
	defer close(downstream)
	for token := range upstream {
		station.visit()
		t.note(&task)
		downstream <- token + 1
	}
}

// around traces a lap.
func (t *trace) around(lap func() error) error {
	t.lap = make([]stop, 0, cap(t.lap))
	t.note(nil)
	err := lap()
	t.note(nil)
	t.Laps = append(t.Laps, tracedLap{t.lap})
	return err
}

// write writes the laps after the warm-up.
func (t *trace) write(warmups int) error {
	span := &t.Spans[0]
	_, ended, count := counted()
	span.EndedNs, span.Counted = ended, span.Counted+count
	t.Laps = t.Laps[warmups:]
	text, err := json.Marshal(t)
	if err == nil {
		err = os.WriteFile(t.file, text, 0o644)
	}
	return err
}
