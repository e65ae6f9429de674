//go:build !unix

package harness

import (
	"errors"
	"time"
)

func cpuTime() (time.Duration, error) {
	return 0, errors.New("the CPU time of a process is only read on Unix")
}

func peakRSS() float64 { return 0 }
