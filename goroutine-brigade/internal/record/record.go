// Package record holds what one invocation measured, as one JSON object and as
// a few lines for people. Shape and wording are those of the harness: the
// committed schema is harness/record.schema.json.
package record

import "encoding/json"

// SchemaVersion is the version of the record's schema, major.minor.
const SchemaVersion = "1.2"

// Ending is why the measuring stopped.
type Ending string

// The endings that there are.
const (
	// Iterations: all that were asked for were measured.
	Iterations Ending = "iterations"
	// MaxTime: --max-time was spent.
	MaxTime Ending = "max-time"
	// Signal: SIGINT or SIGTERM.
	Signal Ending = "signal"
	// Failure: the record's Error says which.
	Failure Ending = "error"
)

// Record is what one invocation measured. Units are in the names; a figure
// that cannot be had here is null.
type Record struct {
	SchemaVersion string                     `json:"schema_version"`
	Program       string                     `json:"program"`
	Version       string                     `json:"version"`
	Parameters    map[string]json.RawMessage `json:"parameters"`
	Tasks         uint64                     `json:"tasks"`
	Tokens        uint64                     `json:"tokens"`
	Iterations    uint64                     `json:"iterations"`
	Warmups       uint64                     `json:"warmups"`
	Complete      bool                       `json:"complete"`
	EndedBy       Ending                     `json:"ended_by"`
	Error         *string                    `json:"error"`
	Affinity      []int                      `json:"affinity"`
	Measurements  []Measurement              `json:"measurements"`
	CPU           *CPUTime                   `json:"cpu"`
	Switches      *Switches                  `json:"switches"`
	Interference  Interference               `json:"interference"`
	Memory        *Memory                    `json:"memory"`
	// Ledger is that of programs that sweep the number of tasks.
	Ledger []LedgerPoint `json:"ledger"`
	// Work is that at every hop, of programs that offer --work.
	Work *Work `json:"work"`
}

// Work is what was added to every hop: so many units, which took so long each
// before the laps and after; null where there was no work.
type Work struct {
	Units     uint64   `json:"units"`
	NsPerUnit *float64 `json:"ns_per_unit"`
}

// Measurement is one distribution: Count samples, each of which covers
// Operations operations.
type Measurement struct {
	Name           string   `json:"name"`
	Operation      string   `json:"operation"`
	Operations     uint64   `json:"operations"`
	Count          uint64   `json:"count"`
	MeanNs         float64  `json:"mean_ns"`
	StddevNs       *float64 `json:"stddev_ns"`
	MinNs          uint64   `json:"min_ns"`
	P50Ns          uint64   `json:"p50_ns"`
	P90Ns          uint64   `json:"p90_ns"`
	P99Ns          uint64   `json:"p99_ns"`
	P999Ns         uint64   `json:"p999_ns"`
	MaxNs          uint64   `json:"max_ns"`
	NsPerOperation float64  `json:"ns_per_operation"`
	NsPerTask      *float64 `json:"ns_per_task"`
	Histogram      string   `json:"histogram"`
}

// CPUTime is CPU time of the process over the measured iterations, per
// operation of the principal measurement.
type CPUTime struct {
	UserNsPerOperation   float64 `json:"user_ns_per_operation"`
	SystemNsPerOperation float64 `json:"system_ns_per_operation"`
}

// Switches are context switches as the kernel counts them, per operation of
// the principal measurement.
type Switches struct {
	VoluntaryPerOperation   float64 `json:"voluntary_per_operation"`
	InvoluntaryPerOperation float64 `json:"involuntary_per_operation"`
	// ExpectedPerOperation is null where the program claims nothing.
	ExpectedPerOperation *float64 `json:"expected_per_operation"`
	Migrations           *uint64  `json:"migrations"`
	CrossCPUShare        *float64 `json:"cross_cpu_share"`
}

// Interference is what else the machine was doing during the measured
// iterations.
type Interference struct {
	StealNs      *uint64 `json:"steal_ns"`
	PsiCPUSomeNs *uint64 `json:"psi_cpu_some_ns"`
	// WallNs is the length of the span that these figures cover.
	WallNs *uint64 `json:"wall_ns"`
	// OthersCPUNs is what others had of the CPUs in Affinity.
	OthersCPUNs        *uint64 `json:"others_cpu_ns"`
	FrequencyBeforeKHz *uint64 `json:"frequency_before_khz"`
	FrequencyAfterKHz  *uint64 `json:"frequency_after_khz"`
}

// Memory of the process, from /proc/self/status, read while all tasks were
// alive.
type Memory struct {
	RSSBytes       uint64  `json:"rss_bytes"`
	PeakRSSBytes   uint64  `json:"peak_rss_bytes"`
	VirtualBytes   uint64  `json:"virtual_bytes"`
	PageTableBytes *uint64 `json:"page_table_bytes"`
}
