//go:build !linux && !darwin

package sandbox

// candidates: there is no backend for this system.
func candidates() []candidate { return nil }
