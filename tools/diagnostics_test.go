package tools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

func TestWithDiagnostics(t *testing.T) {
	server := gopls(t)
	f := plant(t, append(module, "note.txt=one\n")...)
	languages := openLanguages(t, f.ws, server)
	f.call(tools.LSP(languages), in{"operation": "diagnostics", "file_path": "sum.go"}) // it is warm
	write := tools.WithDiagnostics(tools.Write(f.ws), languages)

	r := f.call(write, in{"file_path": "new.go", "content": "package shapes\n\nfunc broken() int { return total(1) }\n"})
	if got := f.text(r); r.IsError || !like(got, "*After this change the language server reports errors:\nnew.go:3:28: error: cannot use total*\nnew.go:3:34: error: cannot use 1*") {
		t.Errorf("%s", got)
	}
	for name, content := range map[string]string{"good.go": "package shapes\n\nfunc unused() {}\n", "other.txt": "text"} {
		if r := f.call(write, in{"file_path": name, "content": content}); r.IsError || strings.Contains(r.Text(), "language server") {
			t.Errorf("%s: %s", name, f.text(r))
		}
	}
	r = f.call(write, in{"file_path": "many.go", "content": "package shapes\n\nfunc many() {\n" + strings.Repeat("\tmissing()\n", 50) + "}\n"})
	if got := f.text(r); strings.Count(got, "\n") > 25 || !like(got, "*(20 of 50 errors are shown.)*") {
		t.Errorf("%s", got)
	}
	if r := f.call(write, in{"file_path": "sum.go", "content": "x"}); !r.IsError || strings.Contains(r.Text(), "language server") {
		t.Errorf("a refused change: %s", f.text(r))
	}

	plain := tools.Write(f.ws)
	call := tool.Call{Name: "Write", Dir: f.dir, Input: []byte(`{"file_path":"a/b.go","content":"x"}`)}
	if got, want := toolrun.Classify(write, call), toolrun.Classify(plain, call); !reflect.DeepEqual(got, want) {
		t.Errorf("classified as %+v, not %+v", got, want)
	}
	if got, want := write.(tool.Previewer).Preview(call), plain.(tool.Previewer).Preview(call); got != want || got == "" {
		t.Errorf("preview %q", got)
	}
	if err := write.(interface{ EndSession(string) error }).EndSession(""); err != nil {
		t.Error(err)
	}
}

// TestWithDiagnosticsStartsNothing: permission to change a file does not run a program.
func TestWithDiagnosticsStartsNothing(t *testing.T) {
	server := gopls(t)
	f := plant(t, module...)
	starts := filepath.Join(t.TempDir(), "starts")
	counted(t, &server, starts)
	kill := killable(t, &server)
	languages := openLanguages(t, f.ws, server)
	write := tools.WithDiagnostics(tools.Write(f.ws), languages)
	question := in{"operation": "documentSymbol", "file_path": "sum.go"}
	for i, c := range []struct {
		before func()
		starts string
		tells  bool
	}{
		{func() {}, "", false},
		{func() { f.call(tools.LSP(languages), question) }, "started\n", true},
		{kill, "started\n", false},
	} {
		c.before()
		r := f.call(write, in{"file_path": fmt.Sprintf("new%d.go", i), "content": "package shapes\n\nvar _ int = total\n"})
		if tells := strings.Contains(r.Text(), "language server"); r.IsError || tells != c.tells {
			t.Errorf("%d: %s", i, f.text(r))
		}
		if data, _ := os.ReadFile(starts); string(data) != c.starts {
			t.Errorf("%d: %q", i, data)
		}
	}
}

// TestWithDiagnosticsDoesNotWait: a server that starts for ever holds up nothing for long.
func TestWithDiagnosticsDoesNotWait(t *testing.T) {
	f := plant(t, module...)
	silent := serverNamed(t, "gopls", filepath.Join(t.TempDir(), "silent"))
	script(t, silent.Command, "exec sleep 1000")
	languages := openLanguages(t, f.ws, silent)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	input := []byte(`{"operation":"documentSymbol","file_path":"sum.go"}`)
	if r, err := tools.LSP(languages).Run(ctx, tool.Call{ID: "c", Name: "LSP", Dir: f.dir, Input: input}); err == nil {
		t.Fatalf("answered: %s", r.Text())
	}
	write := tools.WithDiagnostics(tools.Write(f.ws), languages)
	if r := f.call(write, in{"file_path": "new.go", "content": "package shapes\n"}); r.IsError || strings.Contains(r.Text(), "language server") {
		t.Errorf("%s", f.text(r))
	}
}
