package otelagent_test

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const mainModule = "github.com/openagent-go/agent"

// TestInstall gets this module from a module proxy as a user does, and builds a program
// with it. The program's go.mod needs no replace.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program from a module proxy")
	}
	version := required(t)
	proxy := t.TempDir()
	publish(t, proxy, mainModule, version, "..")
	publish(t, proxy, mainModule+"/otel", version, ".")

	dir := t.TempDir()
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(strings.TrimSpace(string(modules)), "cache", "download")
	env := append(os.Environ(), "GOPROXY="+fileURL(proxy)+","+fileURL(cache), "GOSUMDB=off", "GONOPROXY=none", "GOPRIVATE=", "GOWORK=off", "GOTOOLCHAIN=local",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOMODCACHE="+t.TempDir())
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%.4000s", strings.Join(args, " "), err, out)
		}
	}
	program := `package main

import (
	"context"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	otelagent "github.com/openagent-go/agent/otel"
)

func main() {
	a := &agent.Agent{Model: llmtest.Script(llmtest.Say("installed"))}
	otelagent.Instrument(a, otelagent.Options{})
	res, err := a.Prompt(context.Background(), "hi")
	if err != nil {
		panic(err)
	}
	fmt.Print(res.Text)
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run("mod", "init", "example.com/user")
	run("get", mainModule+"/otel@"+version)
	run("build", "-o", "user.exe", ".")
	if out, err := exec.Command(filepath.Join(dir, "user.exe")).CombinedOutput(); err != nil || string(out) != "installed" {
		t.Errorf("%v: %.2000s", err, out)
	}
	file, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(file); strings.Contains(text, "replace") || !strings.Contains(text, mainModule+"/otel "+version) {
		t.Errorf("the program's go.mod:\n%s", text)
	}
}

// required returns the version of the main module that this module requires.
func required(t *testing.T) string {
	t.Helper()
	file, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(mainModule) + ` (v\S+)$`).FindSubmatch(file)
	if found == nil || string(found[1]) == "v0.0.0" {
		t.Fatal("go.mod requires no version of the main module")
	}
	return string(found[1])
}

func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir // C:/…
	}
	return "file://" + dir
}

// publish writes a version of the module in dir into a module proxy. Its files are those of
// the checkout, without nested modules.
func publish(t *testing.T, proxy, module, version, dir string) {
	t.Helper()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list": version + "\n", version + ".mod": string(mod), version + ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-02T03:04:05Z"}`, version),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	if err := pack(archive, module+"@"+version, dir); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// pack adds the files of the module in dir.
func pack(archive *zip.Writer, prefix, dir string) error {
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != ".":
			_, nested := os.Stat(filepath.Join(dir, name, "go.mod"))
			if nested == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		from, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := archive.Create(path.Join(prefix, name))
		if err != nil {
			return err
		}
		_, err = io.Copy(to, from)
		return err
	})
}
