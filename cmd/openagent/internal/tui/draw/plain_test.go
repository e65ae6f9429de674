package draw_test

import (
	"flag"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/plain"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/plain/plaintest"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/golden"
)

// playPlain plays a script in plain mode, on a terminal that is so wide; on a dumb one, which edits
// lines itself; or into a pipe, while a person types on a terminal. A frame is what was written
// since the one before.
func playPlain(t *testing.T, script string, width int, echo bool) map[string]string {
	c := &plain.Console{Model: ui.NewPlain(width == 0), Theme: draw.Theme{Bare: true}, Width: width, Edit: width > 0, Echo: echo}
	screen := plaintest.New(t)
	line, shown := "", 0
	told := func(now time.Time, data any) {
		if k, ok := data.(input.Key); ok && !c.Edit {
			if line += k.Text; k.Code != input.Enter {
				return
			}
			if echo {
				screen.Write([]byte(line + "\n"))
			}
			data, line = ui.Typed{Text: line, At: now, Echoed: echo}, ""
		}
		c.Update(now, data)
		for b := c.Take(); len(b) > 0; b = c.Take() {
			screen.Write(b)
			c.Written(now)
		}
	}
	return draw.PlayPlain(t, script, told, func() string {
		all := screen.String()
		said := all[min(shown, len(all)):]
		shown = len(strings.Join(screen.Lines(), "\n"))
		return strings.TrimPrefix(said, "\n")
	})
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// TestPlainScenarios plays testdata/plain/*.txtar: a script, and what stands on a terminal, on a
// dumb one and in a pipe.
func TestPlainScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/plain/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script := string(a.Files[0].Data)
			out := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			for _, s := range []struct {
				name  string
				width int
				echo  bool
			}{{"terminal", 72, true}, {"dumb", 0, true}, {"pipe", 0, false}} {
				frames := playPlain(t, script, s.width, s.echo)
				for _, f := range slices.Sorted(maps.Keys(frames)) {
					out.Files = append(out.Files, txtar.File{Name: s.name + " " + f, Data: []byte(frames[f])})
				}
			}
			golden.File(t, file, string(txtar.Format(out)), updating())
		})
	}
}

// TestPlainDocs writes the screen of plain mode in docs/terminal.md.
func TestPlainDocs(t *testing.T) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "plain", "conversation.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	frames := playPlain(t, string(a.Files[0].Data), 100, true)
	before, _, _ := strings.Cut(frames["1"], "allow Bash?") // the next frame has the answer
	golden.Tables(t, filepath.Join("..", "..", "..", "..", "..", "docs", "terminal.md"), map[string]string{"plain": "```text\n" + before + frames["2"] + "```\n"}, updating())
}
