package record

import (
	"encoding/json"
	"os"
	"testing"
)

func pointer[T any](value T) *T {
	return &value
}

func example() *Record {
	return &Record{
		SchemaVersion: SchemaVersion,
		Tasks:         500,
		Iterations:    10000,
		Complete:      true,
		EndedBy:       Iterations,
		Measurements: []Measurement{{
			Name: "iteration", Operation: "hop", Operations: 501, Count: 10000,
			MeanNs: 1_794_500, StddevNs: pointer(82_016.25), MinNs: 1_600_000, P50Ns: 1_780_000,
			P90Ns: 1_900_000, P99Ns: 2_100_000, P999Ns: 2_500_000, MaxNs: 3_000_000,
			NsPerOperation: 1_794_500.0 / 501, NsPerTask: pointer(3_589.0),
		}},
		CPU: &CPUTime{UserNsPerOperation: 500, SystemNsPerOperation: 2_500},
		Switches: &Switches{
			VoluntaryPerOperation: 1, InvoluntaryPerOperation: 0.06, Migrations: pointer(uint64(12)),
			ExpectedPerOperation: pointer(1.0), CrossCPUShare: pointer(0.0215),
		},
		Memory: &Memory{RSSBytes: 12 << 20, VirtualBytes: 600 << 20},
		Work:   &Work{Units: 1000, NsPerUnit: pointer(1.2345)},
	}
}

// The text is that of the harness, word for word.
func TestTheSummaryReadsLikeThatOfOtherPrograms(t *testing.T) {
	want := `500 tasks, 10000 iterations:
mean 1.794ms per iteration, stddev 82.016µs (3.589µs per task per iter)
  min 1.600ms, p50 1.780ms, p90 1.900ms, p99 2.100ms, max 3.000ms
per hop: 3.582µs: 500.000ns user, 2.500µs kernel, 581.836ns waiting
work per hop: 1000 units of 1.234 ns: 1.234µs
switches per hop: 1.000 voluntary, 0.060 involuntary (1 expected)
hops between CPUs: 2.1 %, 12 migrations
memory: 12.0 MiB resident, 600.0 MiB virtual
`
	if text := example().Summary(); text != want {
		t.Errorf("it reads\n%s", text)
	}
}

func TestTheHeadingTellsHowTheRunEnded(t *testing.T) {
	for want, record := range map[string]Record{
		"1 task, 1 iteration:\n":                             {Tasks: 1, Iterations: 1, Complete: true},
		"2 tasks, 0 iterations (--max-time spent):\n":        {Tasks: 2, Complete: true, EndedBy: MaxTime},
		"2 tasks, 3 iterations (incomplete: interrupted):\n": {Tasks: 2, Iterations: 3, EndedBy: Signal},
		"2 tasks, 3 iterations (incomplete: failed):\n":      {Tasks: 2, Iterations: 3, EndedBy: Failure},
	} {
		if heading := record.Heading(); heading != want {
			t.Errorf("%q, not %q", heading, want)
		}
	}
}

func TestWhatCouldNotBeHadIsNull(t *testing.T) {
	text, err := json.Marshal(&Record{Measurements: []Measurement{{}}})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"error", "cpu", "switches", "memory"} {
		if value, present := fields[name]; !present || value != nil {
			t.Errorf("%s is %v", name, value)
		}
	}
}

type schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Defs       map[string]schema          `json:"$defs"`
}

// fieldsOf lists the names that a value's JSON has.
func fieldsOf(t *testing.T, value any) map[string]json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// Every field that the harness's schema requires is here, and none that it
// does not know.
func TestTheRecordHasTheFieldsOfTheSchema(t *testing.T) {
	text, err := os.ReadFile("../../../harness/record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var whole schema
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	whole.Defs["Record"] = whole
	for name, value := range map[string]any{
		"Record": Record{}, "Measurement": Measurement{}, "CpuTime": CPUTime{},
		"Switches": Switches{}, "Interference": Interference{}, "Memory": Memory{},
		"WorkRecord": Work{},
	} {
		expected, fields := whole.Defs[name], fieldsOf(t, value)
		for field := range fields {
			if _, known := expected.Properties[field]; !known {
				t.Errorf("%s: the schema has no field %s", name, field)
			}
		}
		for _, field := range expected.Required {
			if _, present := fields[field]; !present {
				t.Errorf("%s: the required field %s is missing", name, field)
			}
		}
	}
}
