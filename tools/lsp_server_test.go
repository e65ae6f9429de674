package tools_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// TestLSPWithoutServer: what can be told from the text is, and the answer says so.
func TestLSPWithoutServer(t *testing.T) {
	f := plant(t, append(module, "x.zig=fn total() void {}\n", "secret/s.go=package s\n\nfunc total() {}\n")...)
	f.unreadable = []string{"secret/"}
	none := tools.LanguageServer{Name: "gopls", Command: "no-such-language-server", Extensions: map[string]string{".go": "go"}, RootMarkers: []string{"go.mod"},
		Install: "buy it"}
	lsp := tools.LSP(openLanguages(t, f.ws, none))
	const note = "gopls is not installed. To install it: buy it This is a search of the text, which knows neither scopes nor types:\n"
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"operation": "goToDefinition", "file_path": "sum.go", "line": 11, "query": "total"}, note + "sum.go:3: function total: func total(all []Shape) float64 {"},
		{in{"operation": "findReferences", "file_path": "sum.go", "line": 3, "query": "total"},
			note + "sum.go:3: func total(all []Shape) float64 {\nsum.go:11: func twice(all []Shape) float64 { return total(all) + total(all) }"},
		{in{"operation": "documentSymbol", "file_path": "shape.go"},
			note + "4: interface Shape: type Shape interface {\n9: struct Square: type Square struct{ Side float64 }\n12: method Area: *"},
		{in{"operation": "workspaceSymbol", "query": "square"}, note + "shape.go:9: struct Square: *"},
		{in{"operation": "workspaceSymbol", "query": "zzz"}, note + "Nothing was found for \"zzz\"."},
		{in{"operation": "goToDefinition", "file_path": "x.zig", "line": 1, "query": "total"}, "No language server is known for .zig files. This is *\nsum.go:3: *"},
		{in{"operation": "hover", "file_path": "sum.go", "line": 3, "query": "total"}, "error: hover needs a language server. gopls is not installed. To install it: buy it"},
		{in{"operation": "incomingCalls", "file_path": "sum.go", "line": 3, "query": "total"}, "error: incomingCalls needs a language server.*"},
		{in{"operation": "rename", "file_path": "sum.go", "line": 3, "query": "total", "new_name": "x"}, "error: rename needs a language server.*"},
		{in{"operation": "diagnostics", "file_path": "x.zig"}, "error: diagnostics needs a language server. No language server is known for .zig files."},
		{in{"operation": "documentSymbol", "file_path": "x.zig"}, "error: documentSymbol needs a language server for this file*"},
	} {
		r := f.call(lsp, c.input)
		got := f.text(r)
		if r.IsError {
			got = "error: " + got
		}
		if !like(got, c.want) {
			t.Errorf("%v: got %s\nwant %s", c.input, got, c.want)
		}
		if !r.IsError && !strings.Contains(string(r.Details), `"textSearch":true`) {
			t.Errorf("%v: details %s", c.input, r.Details)
		}
	}
}

// TestLSPServerInTheWorkspace: a program that a repository brings along is not started.
func TestLSPServerInTheWorkspace(t *testing.T) {
	f := plant(t, module...)
	program := filepath.Join(f.dir, "bin", "gopls")
	if err := os.MkdirAll(filepath.Dir(program), 0o777); err != nil {
		t.Fatal(err)
	}
	script(t, program, ": >"+f.dir+"/hacked")
	t.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	lsp := tools.LSP(openLanguages(t, f.ws, serverNamed(t, "gopls", "gopls")))
	r := f.call(lsp, in{"operation": "hover", "file_path": "sum.go", "line": 3, "query": "total"})
	if got := f.text(r); !r.IsError || !like(got, "*found in the workspace only (DIR/bin/gopls)*") {
		t.Errorf("%s", got)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "hacked")); err == nil {
		t.Error("it was started")
	}
}

// TestLSPServerThatDoesNotStart is answered with its reason, and by the text.
func TestLSPServerThatDoesNotStart(t *testing.T) {
	f := plant(t, module...)
	broken := serverNamed(t, "gopls", filepath.Join(t.TempDir(), "broken"))
	script(t, broken.Command, "echo started >>"+f.dir+"/starts\necho no toolchain here >&2; exit 1")
	lsp := tools.LSP(openLanguages(t, f.ws, broken))
	for range 3 {
		r := f.call(lsp, in{"operation": "goToDefinition", "file_path": "sum.go", "line": 11, "query": "total"})
		if got := f.text(r); r.IsError || !like(got, "gopls does not start: *no toolchain here.*\nsum.go:3: function total: *") {
			t.Errorf("%s", got)
		}
	}
	if starts, err := os.ReadFile(filepath.Join(f.dir, "starts")); err != nil || string(starts) != "started\nstarted\n" {
		t.Errorf("%q, %v", starts, err)
	}
}

// TestLSPServerIsKilled: a crash is repaired once; the second is reported.
func TestLSPServerIsKilled(t *testing.T) {
	server := gopls(t)
	f := plant(t, module...)
	kill := killable(t, &server)
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	question := in{"operation": "goToDefinition", "file_path": "sum.go", "line": 11, "query": "total"}
	for crash := range 3 {
		r := f.call(lsp, question)
		got := f.text(r)
		if crash < 2 && (r.IsError || got != "sum.go:3:6: func total(all []Shape) float64 {") {
			t.Fatalf("after %d crashes: %s", crash, got)
		}
		if crash == 2 {
			if !r.IsError || !like(got, "gopls crashed twice and is not started again in this session: *") {
				t.Errorf("%s", got)
			}
			break
		}
		kill()
	}
	// Another session has a server of its own again.
	if err := lsp.(interface{ EndSession(string) error }).EndSession(""); err != nil {
		t.Fatal(err)
	}
	if r := f.call(lsp, question); r.IsError {
		t.Errorf("in a new session: %s", f.text(r))
	}
}

// TestLSPAtOnce: questions of several sessions share one server, and each
// session may end.
func TestLSPAtOnce(t *testing.T) {
	server := gopls(t)
	f := plant(t, module...)
	starts := filepath.Join(t.TempDir(), "starts")
	counted(t, &server, starts)
	languages := openLanguages(t, f.ws, server)
	lsp := tools.LSP(languages)
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			input := fmt.Appendf(nil, `{"operation":"goToDefinition","file_path":"sum.go","line":%d,"query":"Shape"}`, 3+8*(i%2))
			r, err := lsp.Run(t.Context(), tool.Call{ID: "c", Name: "LSP", Dir: f.dir, Session: fmt.Sprint("s", i%3), Input: input})
			if err != nil || r.IsError || !strings.HasPrefix(r.Text(), "shape.go:4:6") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	group.Wait()
	for i := range 2 {
		if err := languages.EndSession(fmt.Sprint("s", i)); err != nil {
			t.Error(err)
		}
	}
	r, err := lsp.Run(t.Context(), tool.Call{ID: "c", Name: "LSP", Dir: f.dir, Session: "s2", Input: []byte(`{"operation":"documentSymbol","file_path":"sum.go"}`)})
	if err != nil || r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
	if data, err := os.ReadFile(starts); err != nil || string(data) != "started\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestLSPCancelled: a question that is given up leaves nothing behind, and the
// server that it started serves the next.
func TestLSPCancelled(t *testing.T) {
	server := gopls(t)
	f := plant(t, module...)
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	input := []byte(`{"operation":"goToDefinition","file_path":"sum.go","line":3,"query":"Shape"}`)
	for _, limit := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		if r, err := lsp.Run(ctx, tool.Call{ID: "c", Name: "LSP", Dir: f.dir, Input: input}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", r, err)
		}
		cancel()
	}
	r, err := lsp.Run(t.Context(), tool.Call{ID: "c", Name: "LSP", Dir: f.dir, Input: input})
	if err != nil || r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLSPClosed(t *testing.T) {
	server := gopls(t)
	f := plant(t, module...)
	languages := openLanguages(t, f.ws, server)
	lsp := tools.LSP(languages)
	question := in{"operation": "hover", "file_path": "sum.go", "line": 3, "query": "Shape"}
	f.call(lsp, question)
	if err := languages.Close(); err != nil {
		t.Error(err)
	}
	if r := f.call(lsp, question); !r.IsError || !strings.Contains(r.Text(), "closed") {
		t.Errorf("%s", r.Text())
	}
}

// TestLSPServersAreBounded: with one server too many the one asked longest ago ends,
// and is started again when it is asked.
func TestLSPServersAreBounded(t *testing.T) {
	server := gopls(t)
	var files []string
	for i := range 7 {
		files = append(files, fmt.Sprintf("m%d/go.mod=module example.com/m%d\n\ngo 1.21\n", i, i), fmt.Sprintf("m%d/a.go=package m\n\nfunc F%d() {}\n", i, i))
	}
	f := plant(t, files...)
	starts := filepath.Join(t.TempDir(), "starts")
	counted(t, &server, starts)
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	for i := range 14 {
		file := fmt.Sprintf("m%d/a.go", i%7)
		if r := f.call(lsp, in{"operation": "documentSymbol", "file_path": file}); r.IsError || !strings.Contains(r.Text(), fmt.Sprintf("function F%d", i%7)) {
			t.Fatalf("%s: %s", file, f.text(r))
		}
	}
	if data, err := os.ReadFile(starts); err != nil || strings.Count(string(data), "\n") != 14 {
		t.Errorf("%q, %v", data, err)
	}
}

// TestLSPEnvironment: a server gets the configured variables, and no secret.
func TestLSPEnvironment(t *testing.T) {
	t.Setenv("SOME_API_KEY", "secret")
	t.Setenv("PLAIN", "plain")
	f := plant(t, module...)
	server := serverNamed(t, "gopls", filepath.Join(t.TempDir(), "env"))
	server.Env = map[string]string{"GIVEN": "given", "PLAIN": "other"}
	script(t, server.Command, "env >"+f.dir+"/env; exit 1")
	f.call(tools.LSP(openLanguages(t, f.ws, server)), in{"operation": "documentSymbol", "file_path": "sum.go"})
	data, err := os.ReadFile(filepath.Join(f.dir, "env"))
	if env := "\n" + string(data); err != nil || strings.Contains(env, "secret") || !strings.Contains(env, "\nGIVEN=given\n") || !strings.Contains(env, "\nPLAIN=other\n") {
		t.Errorf("%v\n%s", err, data)
	}
}

// wrapped makes a server a script that runs text before it.
func wrapped(t *testing.T, s *tools.LanguageServer, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wrapped")
	script(t, path, text+"\nexec '"+s.Command+"' \"$@\"")
	s.Command = path
}

// script writes a program for the shell.
func script(t *testing.T, path, text string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell scripts here")
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
}

// counted makes a server leave a line in a file when it starts.
func counted(t *testing.T, s *tools.LanguageServer, file string) {
	t.Helper()
	wrapped(t, s, "echo started >>'"+file+"'")
}

// killable returns a function that kills the server which was started last.
func killable(t *testing.T, s *tools.LanguageServer) func() {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	wrapped(t, s, "echo $$ >'"+file+"'")
	return func() {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}
