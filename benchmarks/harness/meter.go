package harness

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

// A reading is the state of the process's meters.
type reading struct {
	at     time.Time
	cpu    time.Duration
	allocs uint64
	bytes  uint64
}

func read() (reading, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	cpu, err := cpuTime()
	return reading{time.Now(), cpu, m.Mallocs, m.TotalAlloc}, err
}

// least takes o.Samples samples of work and keeps the least of each figure in r,
// divided by units. The work is repeated within a sample until that takes
// o.Sample of CPU time; the shorter samples before that are not counted. After
// o.Limit no further sample is begun.
func least(o Options, units int, r *Result, work func() error) error {
	end := time.Now().Add(o.Limit)
	stop, err := profile(o.Profile)
	if err != nil {
		return err
	}
	defer stop()
	repeats := 1
	for r.Samples < o.Samples && (r.Samples == 0 || time.Now().Before(end)) {
		runtime.GC()
		a, err := read()
		if err != nil {
			return err
		}
		for range repeats {
			if err := work(); err != nil {
				return err
			}
		}
		b, err := read()
		if err != nil {
			return err
		}
		if took := b.cpu - a.cpu; took < o.Sample && r.Samples == 0 && repeats < 1<<20 {
			repeats *= max(2, min(100, int(o.Sample/max(took, time.Microsecond))))
			continue
		}
		r.Samples++
		per := float64(units * repeats)
		keep(&r.CPU, float64(b.cpu-a.cpu)/per)
		keep(&r.Wall, float64(b.at.Sub(a.at))/per)
		keep(&r.Allocs, float64(b.allocs-a.allocs)/per)
		keep(&r.Bytes, float64(b.bytes-a.bytes)/per)
	}
	return nil
}

func keep(least *float64, v float64) { *least = min(cmp.Or(*least, v), v) }

func profile(file string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("profiling: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("profiling: %w", err)
	}
	return func() { pprof.StopCPUProfile(); f.Close() }, nil
}
