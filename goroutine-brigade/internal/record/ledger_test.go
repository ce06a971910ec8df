package record

import "testing"

func TestALedgerEndsWithWhatEachGoroutineAdds(t *testing.T) {
	var points []LedgerPoint
	for count := uint64(1024); count <= 3072; count += 1024 {
		points = append(points, LedgerPoint{
			Tasks: count, ResidentBytes: pointer(count*2560 + 1<<20),
			GoStackBytes: count * 2048, GoSystemBytes: count * 3072,
		})
	}
	record := Record{Tasks: 3072, Iterations: 3, Complete: true, Ledger: points}
	want := `3072 tasks, 3 iterations:
    goroutines          resident            stacks   from the system
          1024           3.5 MiB           2.0 MiB           3.0 MiB
          2048           6.0 MiB           4.0 MiB           6.0 MiB
          3072           8.5 MiB           6.0 MiB           9.0 MiB
per goroutine:        2560 ± 0 B        2048 ± 0 B        3072 ± 0 B
`
	if text := record.Summary(); text != want {
		t.Errorf("it reads\n%s", text)
	}
	for i := range points {
		points[i].ResidentBytes = nil
	}
	want = "per goroutine:           unknown        2048 ± 0 B        3072 ± 0 B\n"
	if text := ledgerText(points); text[len(text)-len(want):] != want {
		t.Errorf("it reads\n%s", text)
	}
}
