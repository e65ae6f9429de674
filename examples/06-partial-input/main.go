// Partial-input defines a tool that sees its input while the model still writes it. The user sees
// complete snapshots of the tool's status.
//
// Run it with: go run ./examples/06-partial-input
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

type post struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	draft := tool.New(tool.Spec{Name: "save_post", Description: "Save a blog post."},
		func(ctx context.Context, call tool.Call, in post) (*tool.Result, error) {
			return tool.Text(fmt.Sprintf("saved %q", in.Title)), nil
		}).
		OnPartial(func(ctx context.Context, in post) { // never executed, only looked at
			words, err := json.Marshal(len(strings.Fields(in.Body)))
			if err == nil {
				tool.Progress(ctx, tool.Status{Text: "writing " + in.Title, Params: map[string]json.RawMessage{"words": words}})
			}
		})
	a := &agent.Agent{
		Model:       model(),
		Tools:       []tool.Tool{draft},
		Permissions: permission.Policy{Allow: []permission.Rule{"save_post"}},
	}
	var last event.ToolProgress
	for e, err := range a.Stream(ctx, "Write a short post about Go.") {
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case event.ToolProgress:
			if d.Seq <= last.Seq {
				return fmt.Errorf("snapshot %d comes after %d", d.Seq, last.Seq)
			}
			last = d
		case event.RunEnd:
			fmt.Fprintf(out, "%s: %s, %s words\n", last.Tool, last.Phase, last.Status.Params["words"])
			fmt.Fprintln(out, d.Text)
		}
	}
	return nil
}
