package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// version is that of the module, or of the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func versionCommand(h *host) cli.Command {
	return cli.Command{Name: "version", Summary: "Print the version", Examples: []string{"openagent version"},
		Run: func(_ context.Context, args []string) error {
			if err := none("version", args); err != nil {
				return err
			}
			return h.show(fmt.Sprintf("openagent %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
		}}
}
