// Edit-preview shows the effect of an edit while the model still writes the call. The file changes
// later, once the call is complete and permitted.
//
// Run it with: go run ./examples/11-edit-preview
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// An editor is what Edit is: a tool that knows what its calls touch and what
// they would do.
type editor interface {
	tool.Tool
	tool.Classifier
	tool.Previewer
}

// Watched is an editor that looks at its input while the model writes it.
type watched struct {
	editor
	dir string
}

// TakesPartial says that the tool has a method Partial, see [tool.Tool].
func (watched) TakesPartial() bool { return true }

// Partial shows the diff of the edit as far as it is written.
func (w watched) Partial(ctx context.Context, input json.RawMessage) {
	diff, err := json.Marshal(w.Preview(tool.Call{Name: "Edit", Dir: w.dir, Input: input}))
	if err == nil {
		tool.Progress(ctx, tool.Status{Text: "writing an edit", Params: map[string]json.RawMessage{"diff": diff}})
	}
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const song = "Frère Jacques,\nDormez-vous?\nDing, dang, dong.\n"

func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "edit-preview")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "song.txt")
	if err := os.WriteFile(file, []byte(song), 0o644); err != nil {
		return err
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()

	edit := llmtest.Call(llmtest.Use("", "Edit", map[string]string{
		"file_path": "song.txt", "old_string": "Dormez-vous?", "new_string": "Frère Jacques,\nDormez-vous?\nDormez-vous?\nSonnez les matines!"}))
	edit.Pieces, edit.EventDelay = 12, 60*time.Millisecond // as slow as a model
	var before string
	a := &agent.Agent{
		Model:       model(edit),
		Tools:       []tool.Tool{tools.Read(ws), watched{tools.Edit(ws).(editor), dir}},
		Dir:         dir,
		Permissions: permission.Policy{Mode: permission.AcceptEdits},
		Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "Edit", Func: func(context.Context, *hook.Input) (hook.Output, error) {
			text, err := os.ReadFile(file) // the call is written, and about to be judged
			before = string(text)
			return hook.Output{}, err
		}}},
	}
	shown := map[string]int{} // lines, by call
	for e, err := range a.Stream(ctx, "Complete the song in song.txt.") {
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case event.ToolProgress:
			lines := added(d)
			for _, line := range lines[min(shown[d.ID], len(lines)):] {
				fmt.Fprintln(out, line)
				shown[d.ID]++
			}
		case event.RunEnd:
			fmt.Fprintln(out, d.Text)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Lines before the call ran: %d, after: %d\n", strings.Count(before, "\n"), strings.Count(string(text), "\n"))
	return nil
}

// added returns the lines that the edit adds as far as they are written to
// their end: the last one is only when the call is complete.
func added(p event.ToolProgress) []string {
	var diff string
	if json.Unmarshal(p.Status.Params["diff"], &diff) != nil {
		return nil
	}
	var all []string
	for i, line := range strings.Split(diff, "\n") {
		if i >= 2 && strings.HasPrefix(line, "+") { // after the names
			all = append(all, line)
		}
	}
	if p.Call == "" && len(all) > 0 {
		all = all[:len(all)-1]
	}
	return all
}
