package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

func versionCommand(h *cli.IO) cli.Command {
	return cli.Command{Name: "version", Summary: "Print the version", Examples: []string{"openagent version"},
		Run: func(_ context.Context, args []string) error {
			if err := cli.NoArgs("version", args); err != nil {
				return err
			}
			return showVersion(h)
		}}
}

func showVersion(h *cli.IO) error {
	return h.Show(fmt.Sprintf("openagent %s (%s, %s/%s)\n", cli.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
}

// showNumber writes the version with a number first, for programs that read it.
func showNumber(h *cli.IO) error {
	return h.Show(fmt.Sprintf("%s (openagent, %s, %s/%s)\n", cli.VersionNumber(), runtime.Version(), runtime.GOOS, runtime.GOARCH))
}
