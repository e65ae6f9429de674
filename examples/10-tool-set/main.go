// Tool-set defines tools that change over time. The set is asked for its tools at the start of each
// prompt, so descriptions and parameters can reflect the current state.
//
// Run it with: go run ./examples/10-tool-set
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Backups is a set: one tool to make a backup, and one to restore one of those
// that there are.
type backups struct {
	mu    sync.Mutex
	names []string
}

type backup struct {
	Name string `json:"name"`
}

// Tools implements [tool.Set].
func (b *backups) Tools(context.Context) ([]tool.Tool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	save := tool.Func(tool.Spec{Name: "save_backup", Description: "Make a backup."}, b.save)
	if len(b.names) == 0 {
		return []tool.Tool{save}, nil
	}
	names, err := json.Marshal(b.names)
	if err != nil {
		return nil, err
	}
	restore := tool.Func(tool.Spec{
		Name:        "restore_backup",
		Description: fmt.Sprintf("Go back to one of %d backups.", len(b.names)),
		Input:       json.RawMessage(`{"type":"object","properties":{"name":{"enum":` + string(names) + `}},"required":["name"]}`),
	}, b.restore)
	return []tool.Tool{save, restore}, nil
}

func (b *backups) save(_ context.Context, in backup) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = append(b.names, in.Name)
	return "saved " + in.Name, nil
}

func (b *backups) restore(_ context.Context, in backup) (string, error) {
	return "restored " + in.Name, nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	a := &agent.Agent{
		Model:       model(),
		Toolsets:    []tool.Set{new(backups)},
		Permissions: permission.Policy{Allow: []permission.Rule{"save_backup", "restore_backup"}},
	}
	s := a.Session("")
	defer s.Close()
	for _, prompt := range []string{"Make a backup called monday.", "Go back to sunday, or else to monday."} {
		ts, err := a.ResolveTools(ctx) // what the model is going to see
		if err != nil {
			return err
		}
		var names []string
		for _, t := range ts {
			names = append(names, t.Spec().Name)
		}
		fmt.Fprintf(out, "> %s (%s)\n", prompt, strings.Join(names, ", "))
		res, err := s.Prompt(ctx, prompt)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, res.Text)
	}
	return nil
}
