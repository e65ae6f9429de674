//go:build !linux

package sandbox

// machineMemory is the memory of the machine in bytes, 0 if it is not known.
func machineMemory() int64 { return 0 }
