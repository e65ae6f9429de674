// Package badsetting holds the error about a setting of the sandbox that cannot be used.
package badsetting

// An Error says which setting cannot be used, and why. The reader of settings files finds the
// file and line of the setting by its name.
type Error struct {
	Setting string // such as "network.allowedDomains"
	Err     error  // what is wrong
}

// Error names the setting.
func (e *Error) Error() string { return "sandbox: " + e.Setting + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
