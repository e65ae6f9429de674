package cronstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/cronstore"
)

func newFile(t *testing.T) cronstore.File {
	return cronstore.File{Path: filepath.Join(t.TempDir(), "cron", "jobs.json")}
}

func slurp(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func version(t *testing.T, s cronstore.Store) string {
	t.Helper()
	v, err := s.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFile(t *testing.T) {
	f := newFile(t)
	if jobs, err := f.Load(t.Context()); err != nil || len(jobs) != 0 || version(t, f) != "" {
		t.Fatal(jobs, err)
	}
	a := add(t, f, "a", "30 9 * * *", cronstore.Skip)
	v := version(t, f)
	if v == "" || version(t, f) != v {
		t.Errorf("version %q, then %q", v, version(t, f))
	}
	if _, err := cronstore.Enable(t.Context(), f, a.ID, true); err != nil { // the same size
		t.Fatal(err)
	}
	if version(t, f) == v {
		t.Error("an update is not seen")
	}
	v = version(t, f)
	put(t, f.Path, strings.Replace(slurp(t, f.Path), "30 9 ", "45 9 ", 1)) // by an editor
	if version(t, f) == v {
		t.Error("an edit is not seen")
	}
	if got := job(t, f, a.ID); got.Schedule != "45 9 * * *" || got.Missed != cronstore.Skip || !got.Created.Equal(a.Created) {
		t.Errorf("%+v", got)
	}
	if want := `{"openagent_cron":1,"revision":2,"jobs":[{"id":"` + a.ID + `","name":"a","schedule":"45 9 * * *","zone":"UTC","prompt":"do a","dir":`; !strings.HasPrefix(slurp(t, f.Path), want) {
		t.Errorf("the format is %s", slurp(t, f.Path))
	}
	if runtime.GOOS == "windows" {
		return
	}
	_ = os.Chmod(f.Path, 0o644)
	add(t, f, "b", "@daily", "")
	for name, want := range map[string]os.FileMode{"": 0o700, "jobs.json": 0o600, "jobs.json.lock": 0o600} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(f.Path), name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(f.Path)); len(entries) != 2 {
		t.Errorf("left over: %v", entries)
	}
}

// An invalid file is reported and stays as it is.
func TestFileUnreadable(t *testing.T) {
	for name, data := range map[string]string{
		"empty":     "",
		"torn":      `{"openagent_cron":1,"revision":3,"jobs":[{"id":"x"`,
		"binary":    "\x00\x01\x02",
		"other":     `{"openagent_cron":1} {"openagent_cron":1}`,
		"newer":     `{"openagent_cron":2,"jobs":"else"}`,
		"no format": `{}`,
		"twice":     `{"openagent_cron":1,"jobs":[{"id":"x"},{"id":"x"}]}`,
		"large":     `{"openagent_cron":1,"x":"` + strings.Repeat("x", 17<<20) + `"}`,
	} {
		f := newFile(t)
		put(t, f.Path, data)
		_, err := f.Load(t.Context())
		_, addErr := cronstore.Add(t.Context(), f, cronstore.Job{Name: "a", Schedule: "@daily", Prompt: "p", Dir: t.TempDir()})
		runErr := (&cronstore.Scheduler{Store: f, Fire: nothing}).Run(t.Context())
		for _, err := range []error{err, addErr, runErr} {
			if !errors.Is(err, cronstore.ErrUnreadable) || !strings.Contains(err.Error(), f.Path) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if slurp(t, f.Path) != data {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestFileHostile(t *testing.T) {
	f := newFile(t)
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(t.Context()); err == nil {
		t.Error("a folder was read")
	}
	if runtime.GOOS == "windows" {
		return
	}
	f = newFile(t)
	secret := filepath.Join(t.TempDir(), "else")
	put(t, secret, `{"openagent_cron":1,"jobs":[]}`)
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, f.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(t.Context()); err == nil {
		t.Error("a link was followed")
	}
	if err := f.Update(t.Context(), func([]cronstore.Job) ([]cronstore.Job, error) { return nil, nil }); err == nil {
		t.Error("a link was replaced")
	}
}

// An update that fails changes nothing and leaves nothing behind.
func TestFileFails(t *testing.T) {
	f := newFile(t)
	add(t, f, "a", "@daily", "")
	before := slurp(t, f.Path)
	fail := errors.New("no")
	if err := f.Update(t.Context(), func([]cronstore.Job) ([]cronstore.Job, error) { return nil, fail }); !errors.Is(err, fail) {
		t.Error(err)
	}
	err := f.Update(t.Context(), func(jobs []cronstore.Job) ([]cronstore.Job, error) {
		jobs[0].Prompt = strings.Repeat("x", 17<<20)
		return jobs, nil
	})
	if err == nil || !strings.Contains(err.Error(), "larger than 16 MB") {
		t.Error(err)
	}
	if slurp(t, f.Path) != before {
		t.Error("the file was changed")
	}
	if entries, _ := os.ReadDir(filepath.Dir(f.Path)); len(entries) != 2 {
		t.Errorf("left over: %v", entries)
	}
}

// A caller that waits for the lock can be told to stop.
func TestFileLocked(t *testing.T) {
	f := newFile(t)
	err := f.Update(t.Context(), func([]cronstore.Job) ([]cronstore.Job, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := f.Update(ctx, func(jobs []cronstore.Job) ([]cronstore.Job, error) { return jobs, nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFileTogether(t *testing.T) {
	f := newFile(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if _, err := cronstore.Add(t.Context(), f, cronstore.Job{Name: "a", Schedule: "@daily", Prompt: "p", Dir: f.Path}); err != nil {
					t.Error(err)
				}
				if _, err := f.Load(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if jobs, err := f.Load(t.Context()); err != nil || len(jobs) != 40 {
		t.Error(len(jobs), err)
	}
}
