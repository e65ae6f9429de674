package sandbox

import (
	"math"
	"runtime"
)

const (
	mb          = 1 << 20
	maxMemoryMB = 1 << 24 // 16 TB
	// The parts of [DefaultMemory]: a compiler, and more of them side by side.
	baseMemory, memoryOfProcessor = 1024 * mb, 512 * mb
)

// DefaultMemory is how many bytes of memory the processes of a confined command may
// take together where the settings say nothing: 1 GB and 512 MB for each processor,
// at most half of the machine's memory.
func DefaultMemory() int {
	most := baseMemory + memoryOfProcessor*int64(runtime.NumCPU())
	if machine := machineMemory(); machine > 0 {
		most = min(most, machine/2)
	}
	return saturated(most)
}

// memory is how many bytes of memory a command may take.
func (s Settings) memory() int {
	if s.MemoryMB > 0 {
		return saturated(int64(s.MemoryMB) * mb)
	}
	return DefaultMemory()
}

// saturated is n, or the largest int where that has 32 bits.
func saturated(n int64) int { return int(min(n, math.MaxInt)) }
