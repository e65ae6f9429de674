package tooloutput

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

func TestLimitPasses(t *testing.T) {
	o := tool.Output{Dir: filepath.Join(t.TempDir(), "none")}
	image := llm.Image{MediaType: "image/png", Data: make([]byte, 1<<20)}
	r := &tool.Result{Content: llm.Blocks{llm.Text{Text: "short"}, image}, Details: json.RawMessage(`{"a":1}`)}
	got, err := Limit(o, tool.Call{}, r)
	if err != nil || got.Text() != "short" || len(got.Content) != 2 || got.Truncated || string(got.Details) != `{"a":1}` {
		t.Errorf("got %+v, %v", got, err)
	}
	long := tool.Text(strings.Repeat("x\n", 5000))
	long.Truncated = true
	if got, err := Limit(o, tool.Call{}, long); err != nil || got.Text() != long.Text() {
		t.Errorf("cut again: %v", err)
	}
	full := tool.Text(strings.Repeat(strings.Repeat("x", 20)+"\n", 2000))
	if got, err := Limit(o, tool.Call{}, full); err != nil || got.Truncated {
		t.Errorf("cut at the limit: %v", err)
	}
	if _, err := os.Stat(o.Dir); err == nil {
		t.Error("the folder was made for nothing")
	}
}

func TestLimitCuts(t *testing.T) {
	many := strings.Repeat("a line\n", 5000)
	wide := strings.Repeat("0123456789", 20_000)
	for name, c := range map[string]struct {
		o       tool.Output
		text    string
		isError bool
	}{
		"lines":  {tool.Output{}, many, false},
		"bytes":  {tool.Output{}, wide, false},
		"error":  {tool.Output{}, wide, true},
		"runes":  {tool.Output{Bytes: 1001}, strings.Repeat("é€😀", 1000), false},
		"narrow": {tool.Output{Lines: 3, Bytes: 10}, many, false},
		"one":    {tool.Output{Lines: 1}, many, false},
		"any n":  {tool.Output{Lines: -1}, strings.Repeat("a line\n", 20_000), false},
		"any b":  {tool.Output{Bytes: -1}, wide + "\n" + many, false},
		"mixed":  {tool.Output{}, strings.Repeat(strings.Repeat("y", 300)+"\n", 1000), false},
	} {
		c.o.Dir = filepath.Join(t.TempDir(), "out")
		r := &tool.Result{Content: llm.Blocks{llm.Text{Text: c.text[:100]}, llm.Image{MediaType: "image/png", Data: []byte("x")}, llm.Text{Text: c.text[100:]}}, IsError: c.isError, Details: json.RawMessage(`{"n":1}`)}
		if name == "runes" { // blocks are cut anywhere else
			r.Content = llm.Blocks{llm.Text{Text: c.text}, llm.Image{MediaType: "image/png", Data: []byte("x")}}
		}
		got, err := Limit(c.o, tool.Call{ID: "c1.0", Name: "T"}, r)
		if err != nil {
			t.Fatal(name, err)
		}
		var d struct {
			N          int
			Truncated  bool
			OutputPath string
		}
		if err := json.Unmarshal(got.Details, &d); err != nil || d.N != 1 || !d.Truncated || !got.Truncated || got.IsError != c.isError {
			t.Errorf("%s: %s %v", name, got.Details, err)
		}
		if kept, err := os.ReadFile(d.OutputPath); err != nil || string(kept) != c.text {
			t.Errorf("%s: the file holds %d bytes of %d: %v", name, len(kept), len(c.text), err)
		}
		lines, bytes := limitsOf(c.o)
		text := got.Text()
		head, rest, ok := strings.Cut(text, "\n[… ")
		note, tail, ok2 := strings.Cut(rest, " …]\n\n")
		if !ok || !ok2 || !strings.HasPrefix(c.text, strings.TrimSuffix(head, "\n")) || !strings.HasSuffix(c.text, tail) || !utf8.ValidString(text) {
			t.Errorf("%s: %.300q", name, text)
		}
		if len(head)+len(tail)-1 > bytes || countLines(head)+countLines(tail) > lines {
			t.Errorf("%s: kept %d+%d bytes, %d+%d lines", name, len(head), len(tail), countLines(head), countLines(tail))
		}
		if c.o.Lines < 0 && len(head) < bytes/3 || c.o.Bytes < 0 && countLines(head) < lines/3 {
			t.Errorf("%s: the head has only %d bytes", name, len(head))
		}
		if !strings.Contains(note, d.OutputPath) || !strings.Contains(note, "Read it with offset") {
			t.Errorf("%s: %s", name, note)
		}
		if len(got.Content) != 2 {
			t.Errorf("%s: %d blocks", name, len(got.Content))
		}
		info, err := os.Stat(d.OutputPath)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" {
			folder, _ := os.Stat(c.o.Dir)
			if info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
				t.Errorf("%s: modes %v, %v", name, info.Mode(), folder.Mode())
			}
		}
		if r.Text() != c.text || string(r.Details) != `{"n":1}` || r.Truncated {
			t.Errorf("%s: the result given was changed", name)
		}
	}
}

func TestLimitWithoutDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Limit(tool.Output{Dir: filepath.Join(file, "sub")}, tool.Call{Name: "T"}, tool.Text(strings.Repeat("x\n", 5000)))
	if err == nil || !got.Truncated || len(got.Text()) > 60<<10 || !strings.Contains(got.Text(), "could not be kept") {
		t.Errorf("got %v, %.100s", err, got.Text())
	}
}

func TestLimitNamesFilesSafely(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		got, err := Limit(tool.Output{Dir: dir, Lines: 1}, tool.Call{Name: "../../x", ID: "/../\x00" + strings.Repeat("y", 500)}, tool.Text("1\n2\n3\n"))
		if err != nil || !got.Truncated {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("%d files", len(entries))
	}
}

func TestOutputDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the temporary folder of Windows is the user's own")
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := Dir(); err != nil || again != dir {
		t.Errorf("%s, %v", again, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(); err == nil {
		t.Error("a folder that others can read is taken")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(); err == nil {
		t.Error("a symlink is taken")
	}
	if got, err := Limit(tool.Output{Lines: 1}, tool.Call{}, tool.Text("1\n2\n3\n")); err == nil || !got.Truncated {
		t.Error("the output was kept in a folder that is not ours")
	}
}

func FuzzLimit(f *testing.F) {
	f.Add("a\nb\nc\n", 2, 10)
	f.Add("ééé", 1, 3)
	f.Fuzz(func(t *testing.T, s string, lines, bytes int) {
		o := tool.Output{Lines: lines%100 + 1, Bytes: bytes%1000 + 1}
		if o.Lines <= 0 || o.Bytes <= 0 {
			return
		}
		s = text.Clean(s)
		head := firstPart(s, (o.Lines+1)/2, (o.Bytes+1)/2)
		tail := lastPart(s[len(head):], o.Lines/2, o.Bytes/2)
		if !strings.HasPrefix(s, head) || !strings.HasSuffix(s[len(head):], tail) || !utf8.ValidString(head) || !utf8.ValidString(tail) {
			t.Errorf("%q: %q, %q", s, head, tail)
		}
		if len(head)+len(tail) > o.Bytes || countLines(head)+countLines(tail) > o.Lines {
			t.Errorf("%q: %q, %q", s, head, tail)
		}
	})
}
