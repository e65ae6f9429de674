package outside

import (
	"archive/zip"
	"encoding/json"
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

// Proxy serves modules of this checkout as a module proxy does, to go commands of a user.
type Proxy struct {
	dir string
	env []string
}

// NewProxy returns a proxy without modules of this checkout. It has the modules of others from
// the module cache.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{dir: t.TempDir()}
	proxies := fileURL(p.dir) + "," + fileURL(filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	p.env = append(os.Environ(), "GOPROXY="+proxies, "GOSUMDB=off", "GONOPROXY=none", "GOPRIVATE=", "GOWORK=off", "GOTOOLCHAIN=local",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOMODCACHE="+t.TempDir())
	return p
}

// Publish publishes a version of one of the modules of this checkout: the library, or the module
// in a folder of it. Its files are those of the folder, without nested modules and tests.
func (p *Proxy) Publish(t testing.TB, folder, version string) {
	t.Helper()
	at := filepath.Join(p.dir, filepath.FromSlash(path.Join(library, folder)), "@v")
	dir := filepath.Join(checkout(t), filepath.FromSlash(folder))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-02T03:04:05Z"})
	if err != nil {
		t.Fatal(err)
	}
	Write(t, filepath.Join(at, "list"), []byte(version+"\n"))
	Write(t, filepath.Join(at, version+".mod"), mod)
	Write(t, filepath.Join(at, version+".info"), info)
	file, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	if err := pack(archive, path.Join(library, folder)+"@"+version, dir); err != nil {
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

// Go runs the go command in a folder and returns its standard output. It knows no modules but
// those of the proxy, and its module cache is its own. Where the module cache lacks a module
// of others, the test is skipped, and fails in CI.
func (p *Proxy) Go(t testing.TB, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	var failure strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(p.env, env...), &failure
	out, err := cmd.Output()
	if missing := absent.FindString(failure.String()); err != nil && missing != "" && !strings.Contains(missing, library) && os.Getenv("CI") != "true" {
		t.Skipf("the module cache lacks a module, which internal/devtools/tidy.sh -diff would fetch: %s", missing)
	}
	if err != nil {
		t.Fatalf("go %s: %v\n%.4000s", strings.Join(args, " "), err, failure.String())
	}
	return string(out)
}

// absent matches the error about a module that no proxy has.
var absent = regexp.MustCompile(`\S+@\S+: reading file://.*`)

// Required returns the version of the library that the module in a folder of this checkout requires.
func Required(t testing.TB, folder string) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(checkout(t), filepath.FromSlash(folder), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(library) + ` (v\S+)$`).FindSubmatch(file)
	if found == nil || string(found[1]) == "v0.0.0" {
		t.Fatalf("%s/go.mod requires no version of the library", folder)
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
