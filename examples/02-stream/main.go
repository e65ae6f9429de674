// Stream prints the answer while the model writes it, and every tool call.
//
// Run it with: go run ./examples/02-stream
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "stream")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "poem.txt"), []byte("Roses are red\n"), 0o600); err != nil {
		return err
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	a := &agent.Agent{
		Model: model(),
		Tools: []tool.Tool{tools.Read(ws)},
		Dir:   dir,
	}
	for e, err := range a.Stream(ctx, "What does poem.txt say?") {
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case event.TextDelta:
			fmt.Fprint(out, d.Text)
		case event.ModelFailed: // what was shown of this answer is withdrawn
			fmt.Fprintf(out, "\n[the model failed: %s]\n", d.Message)
		case event.ToolResult:
			fmt.Fprintf(out, "[a tool answered: %d bytes]\n", len(d.Result.Text()))
		case event.RunEnd:
			fmt.Fprintf(out, "\n[%s]\n", d.Reason)
		}
	}
	return nil
}
