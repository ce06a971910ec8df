package bench

import "brigade/goroutine-brigade/internal/record"

// record puts what the bench found into the record's form.
func (p *Program) record(bench *Bench, failure error) (*record.Record, error) {
	found := &bench.findings
	result := &record.Record{
		SchemaVersion: record.SchemaVersion,
		Program:       name,
		Version:       version,
		Parameters:    bench.flags.parameters(p.Subcommand),
		Tasks:         uint64(bench.Tasks()),
		Tokens:        1,
		Iterations:    found.iterations,
		Warmups:       found.warmups,
		EndedBy:       bench.ending(failure),
		Affinity:      bench.cpus,
		Measurements:  []record.Measurement{},
		Memory:        found.memory,
		Ledger:        found.ledger,
		Work:          found.work,
	}
	result.Complete = result.EndedBy == record.Iterations || result.EndedBy == record.MaxTime
	if failure != nil {
		text := failure.Error()
		result.Error = &text
	}
	for _, samples := range found.samples {
		measurement, err := samples.measurement(bench.Tasks())
		if err != nil {
			return nil, err
		}
		result.Measurements = append(result.Measurements, measurement)
	}
	bench.addUsage(result)
	return result, nil
}

func (b *Bench) ending(failure error) record.Ending {
	switch {
	case b.Interrupted():
		return record.Signal
	case failure != nil || b.findings.endedBy == "":
		return record.Failure
	}
	return b.findings.endedBy
}

// addUsage adds what the measured iterations used, per operation of the
// principal measurement.
func (b *Bench) addUsage(result *record.Record) {
	span := b.findings.span
	if span == nil || len(b.findings.samples) == 0 {
		return
	}
	operations := float64(b.findings.samples[0].operations())
	result.Interference = span.interference
	result.CPU = &record.CPUTime{
		UserNsPerOperation:   span.userNs / operations,
		SystemNsPerOperation: span.systemNs / operations,
	}
	result.Switches = &record.Switches{
		VoluntaryPerOperation:   span.voluntary / operations,
		InvoluntaryPerOperation: span.involuntary / operations,
		ExpectedPerOperation:    b.findings.expectedSwitch,
		Migrations:              span.migrations,
		CrossCPUShare:           b.tracer.crossCPUShare(),
	}
}
