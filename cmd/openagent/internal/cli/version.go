package cli

import (
	"runtime/debug"
)

// Version returns the version of the module, or the commit it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
