package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/outside"
)

const (
	libraryModule = "github.com/openagent-go/agent"
	commandModule = libraryModule + "/cmd/openagent"
)

// TestInstall installs the command from a module proxy, as users do, and adds it to a module as a
// tool.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the command from a module proxy")
	}
	t.Parallel()
	version, proxy := published(t)
	dir, bin := t.TempDir(), t.TempDir()
	proxy.Go(t, dir, []string{"GOBIN=" + bin, "GOFLAGS=-modcacherw -trimpath"}, "install", commandModule+"@latest")
	program := filepath.Join(bin, "openagent")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "openagent "+version+" (go") {
		t.Errorf("%v: %s", err, out)
	}

	proxy.Go(t, dir, nil, "mod", "init", "example.com/user")
	proxy.Go(t, dir, nil, "get", "-tool", commandModule+"@"+version)
	if out := proxy.Go(t, dir, []string{"GOFLAGS=-modcacherw -trimpath"}, "tool", "openagent", "--version"); !strings.HasPrefix(out, version[1:]+" (openagent,") {
		t.Errorf("go tool openagent: %s", out)
	}
}

// TestLibraryModules: a program that requires the library lists no module that only the command
// needs.
func TestLibraryModules(t *testing.T) {
	version, proxy := published(t)
	dir := t.TempDir()
	outside.Write(t, filepath.Join(dir, "main.go"), []byte("package main\n\nimport _ \""+libraryModule+"/coder\"\n\nfunc main() {}\n"))
	proxy.Go(t, dir, nil, "mod", "init", "example.com/user")
	proxy.Go(t, dir, nil, "get", libraryModule+"@"+version)
	listed := map[string]bool{}
	for _, path := range strings.Fields(proxy.Go(t, dir, nil, "list", "-m", "-f", "{{.Path}}", "all")) {
		listed[path] = true
	}
	if !listed[libraryModule] || listed[commandModule] {
		t.Fatalf("the program lists %v", listed)
	}
	own := 0
	library := requirements(t, proxy, libraryModule+"@"+version)
	for path := range requirements(t, proxy, commandModule+"@"+version) {
		if path == libraryModule || library[path] {
			continue
		}
		own++
		if listed[path] && !strings.HasPrefix(path, "golang.org/x/") { // golang.org/x/net requires some of those
			t.Errorf("the program lists %s, which only the command requires", path)
		}
	}
	for path := range library {
		if path == "golang.org/x/term" || strings.HasPrefix(path, "github.com/charmbracelet/") || strings.HasPrefix(path, "github.com/clipperhouse/") {
			t.Errorf("the library requires %s, a terminal library", path)
		}
	}
	if own == 0 {
		t.Error("this test sees no module that only the command requires")
	}
}

// published returns a proxy with the library, its store for PostgreSQL and the command, in the version of the library that
// the command requires.
func published(t *testing.T) (version string, proxy *outside.Proxy) {
	t.Helper()
	version, proxy = outside.Required(t, "cmd/openagent"), outside.NewProxy(t)
	proxy.Publish(t, "", version)
	proxy.Publish(t, "postgres", version)
	proxy.Publish(t, "cmd/openagent", version)
	return version, proxy
}

// requirements returns the modules that the go.mod file of a module requires.
func requirements(t *testing.T, proxy *outside.Proxy, module string) map[string]bool {
	t.Helper()
	file := proxy.Go(t, t.TempDir(), nil, "mod", "download", "-json", module)
	_, file, _ = strings.Cut(file, `"GoMod": "`)
	file, _, _ = strings.Cut(file, `"`)
	paths := map[string]bool{}
	for path := range strings.Lines(proxy.Go(t, t.TempDir(), nil, "mod", "edit", "-print", file)) {
		if fields := strings.Fields(strings.TrimPrefix(path, "require ")); len(fields) > 1 && strings.HasPrefix(fields[1], "v") {
			paths[fields[0]] = true
		}
	}
	return paths
}
