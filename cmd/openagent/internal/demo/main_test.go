package demo

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// The scenario chaos starts the program again, and kills it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"openagent": func() {
			h := cli.NewIO()
			ctx, stop := cli.WatchSignals(context.Background(), h)
			defer stop()
			os.Exit(h.Exit(ctx, Command(h).Execute(ctx, os.Args[2:], h.Show)))
		},
	})
}
