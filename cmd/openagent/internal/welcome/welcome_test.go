package welcome

import (
	"bytes"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/firstrun"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/draw"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/golden"
)

var update = flag.Bool("update", false, "rewrite the frames, and the first screen of docs/terminal.md")

// TestFrames compares the screens with testdata/welcome.txtar, on terminals of three sizes.
func TestFrames(t *testing.T) {
	h := &cli.IO{Err: new(bytes.Buffer)}
	found := []firstrun.Server{{Provider: "ollama", Title: "Ollama", BaseURL: "http://localhost:11434/v1", Models: []string{"qwen3:8b", "llama3.3:70b"}},
		{Provider: "lmstudio", Title: "LM Studio", BaseURL: "http://localhost:1234/v1", Models: []string{"evil\u202emodel"}}}
	models, _ := whichLocal(h, found)
	failed := whichCommand()
	failed.Warn = "the key command: exit status 3"
	anthropic := firstrun.Providers()[0]
	key := []any{input.Paste{Text: "sk-ant-a-key"}}
	for _, k := range input.Type("-more") {
		key = append(key, k)
	}
	var typedKey []any // pasted in a terminal that does not tell pastes from keys
	for _, k := range input.Type("sk-ant-a-key") {
		typedKey = append(typedKey, k)
	}
	screens := []struct {
		name   string
		choice ui.Choice
		inputs []any
	}{
		{"first", first(h, "anthropic", nil), nil},
		{"first: found", first(h, "anthropic", found), keys(t, "down", "down")},
		{"provider", whichProvider("openai"), nil},
		{"provider: search", whichProvider("openai"), keys(t, "r", "o", "u", "t", "e")},
		{"provider: typed key", whichProvider("openai"), typedKey},
		{"provider: paste", whichProvider("openai"), key[:1]},
		{"key", whichKey(anthropic), nil},
		{"key: typed", whichKey(anthropic), key},
		{"key: chosen", whichKey(anthropic), append(key[:len(key):len(key)], keys(t, "enter")...)},
		{"model", whichModel(anthropic), keys(t, "g", "l", "m")},
		{"local", models, nil},
		{"command", failed, nil},
	}
	file := filepath.Join("testdata", "welcome.txtar")
	out := &txtar.Archive{Comment: []byte("The first questions of a person without a key.\n")}
	for _, size := range []struct {
		name string
		w, h int
	}{{"100x40", 100, 40}, {"80x24", 80, 24}, {"40x12", 40, 12}} {
		for _, s := range screens {
			shown := paint(t, s.choice, s.inputs, size.w, size.h)
			if strings.Contains(shown, "sk-") || strings.Contains(shown, "-more") {
				t.Errorf("%s shows the key: %s", s.name, shown)
			}
			if out.Files = append(out.Files, txtar.File{Name: s.name + " " + size.name, Data: []byte(shown)}); s.name == "first" && size.w == 100 {
				golden.Tables(t, filepath.Join("..", "..", "..", "..", "docs", "terminal.md"), map[string]string{"welcome": "```text\n" + shown + "```\n"}, *update)
			}
		}
	}
	golden.File(t, file, string(txtar.Format(out)), *update)
}

func keys(t *testing.T, names ...string) (out []any) {
	for _, name := range names {
		k, ok := input.Parse(name)
		if !ok {
			t.Fatal(name)
		}
		out = append(out, k)
	}
	return out
}

// paint returns the screen of a choice after some inputs, with the caret.
func paint(t *testing.T, c ui.Choice, inputs []any, w, h int) string {
	m := ui.New(w, h)
	c.Alone = true
	for _, in := range append([]any{c}, inputs...) {
		m, _ = ui.Update(m, ui.Input{Time: time.Unix(2e9, 0), Data: in})
	}
	f, _ := draw.Frame(m, w, h, draw.Theme{})
	var b strings.Builder
	if len(f.Above) > 0 || len(f.Live) > h {
		t.Errorf("%d lines above, %d lines of %d", len(f.Above), len(f.Live), h)
	}
	for i, l := range f.Live {
		if i == f.Caret.Line {
			l = l[:f.Caret.Byte] + "▏" + l[f.Caret.Byte:]
		}
		l = strings.NewReplacer("\x1b[1m", "", "\x1b[m", "").Replace(l)
		if n := frame.Width(strings.Replace(l, "▏", "", 1)); n > w {
			t.Errorf("%d cells of %d: %q", n, w, l)
		}
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}
