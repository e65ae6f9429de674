package cli

import (
	"runtime/debug"
)

// Version is that of the module, or of the commit it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
