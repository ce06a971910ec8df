package record

import (
	"fmt"
	"strings"

	"brigade/goroutine-brigade/internal/stats"
)

// LedgerPoint is what was held at one number of tasks. The fields that begin
// with go are of this program alone.
type LedgerPoint struct {
	Tasks          uint64  `json:"tasks"`
	ResidentBytes  *uint64 `json:"resident_bytes"`
	VirtualBytes   *uint64 `json:"virtual_bytes"`
	PageTableBytes *uint64 `json:"page_table_bytes"`
	// GoStackBytes are in use for stacks (MemStats.StackInuse).
	GoStackBytes uint64 `json:"go_stack_bytes"`
	// GoSystemBytes are what the runtime has from the system
	// (MemStats.Sys).
	GoSystemBytes uint64 `json:"go_system_bytes"`
}

// ledgerPart is one column of the ledger.
type ledgerPart struct {
	name  string
	bytes func(*LedgerPoint) *uint64
}

var ledgerParts = []ledgerPart{
	{"resident", func(p *LedgerPoint) *uint64 { return p.ResidentBytes }},
	{"stacks", func(p *LedgerPoint) *uint64 { return &p.GoStackBytes }},
	{"from the system", func(p *LedgerPoint) *uint64 { return &p.GoSystemBytes }},
}

// ledgerText is the ledger as a table, and what each goroutine adds.
func ledgerText(points []LedgerPoint) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%14s", "goroutines")
	for _, part := range ledgerParts {
		fmt.Fprintf(&text, "%18s", part.name)
	}
	for i := range points {
		fmt.Fprintf(&text, "\n%14d", points[i].Tasks)
		for _, part := range ledgerParts {
			fmt.Fprintf(&text, "%18s", mebibytes(part.bytes(&points[i])))
		}
	}
	text.WriteString("\nper goroutine:")
	for _, part := range ledgerParts {
		fmt.Fprintf(&text, "%18s", part.perTask(points))
	}
	return text.String() + "\n"
}

func mebibytes(bytes *uint64) string {
	if bytes == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f MiB", float64(*bytes)/(1<<20))
}

// perTask is what one goroutine more adds to a part: the slope over the
// counts, with its 95 % interval.
func (p *ledgerPart) perTask(points []LedgerPoint) string {
	var counts, amounts []float64
	for i := range points {
		if bytes := p.bytes(&points[i]); bytes != nil {
			counts = append(counts, float64(points[i].Tasks))
			amounts = append(amounts, float64(*bytes))
		}
	}
	line, ok := stats.Fit(counts, amounts)
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%.0f ± %.0f B", line.Slope, line.HalfWidth)
}
