package checkpoint_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// noise is content of n bytes that nothing else has.
func noise(seed, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(seed), 9))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// However much is changed, the store stays below its quota by itself, and what it
// lists can be restored.
func TestQuota(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	s.Quota = 2 << 20
	_, err := s.Take(t.Context(), checkpoint.Mark{Session: "other"}, root)
	must(t, err)
	var states []string
	for i := range 60 {
		must(t, os.WriteFile(filepath.Join(root, "a"), noise(i, 100_000), 0o600))
		c := take(t, s, root)
		states = append(states, c.ID+state(t, root, nil))
		if u, err := s.Usage(t.Context()); err != nil || u.Bytes > s.Quota {
			t.Fatalf("round %d: %+v, %v", i, u, err)
		}
	}
	list, err := s.List(t.Context(), session)
	if must(t, err); len(list) < 8 || len(list) > 20 {
		t.Errorf("%d checkpoints are left", len(list))
	}
	for i, c := range list {
		restore(t, s, c.ID)
		if want := states[len(states)-len(list)+i]; c.ID+state(t, root, nil) != want {
			t.Error("the newest are kept; this one is another:", c.ID)
		}
		if i == 2 {
			break // each restore takes one
		}
	}
	if list, err := s.List(t.Context(), "other"); err != nil || len(list) != 1 {
		t.Error("the newest of another session is gone:", err)
	}
}

// Files that cannot fit are refused at once, and nothing is dropped for them.
func TestBeyondQuota(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	s.Quota = 1 << 20
	plant(t, root, map[string]string{"a": "1"})
	take(t, s, root)
	must(t, os.WriteFile(filepath.Join(root, "b"), noise(1, 2<<20), 0o600))
	if _, err := s.Take(t.Context(), checkpoint.Mark{Session: session}, root); !errors.Is(err, checkpoint.ErrQuota) {
		t.Error(err)
	}
	list, err := s.List(t.Context(), session)
	if must(t, err); len(list) != 1 {
		t.Fatalf("%d checkpoints", len(list))
	}
	if u, err := s.Usage(t.Context()); err != nil || u.Bytes > 100_000 {
		t.Errorf("%+v, %v", u, err)
	}
	s.Quota = -1
	if _, err := s.Take(t.Context(), checkpoint.Mark{Session: session}, root); !errors.Is(err, checkpoint.ErrQuota) {
		t.Error(err)
	}
}

func TestPrune(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	for i := range 3 {
		must(t, os.WriteFile(filepath.Join(root, "a"), noise(i, 50_000), 0o600))
		take(t, s, root)
	}
	before, err := s.Usage(t.Context())
	must(t, err)
	if before.Checkpoints != 3 || before.Sessions != 1 || before.Objects != 6 || before.Bytes < 3*50_000 {
		t.Errorf("%+v", before)
	}
	p, err := s.Prune(t.Context())
	if must(t, err); p.Checkpoints != 0 || p.Bytes != 0 || p.Usage != before {
		t.Errorf("%+v", p)
	}
	s.MaxAge = time.Nanosecond
	p, err = s.Prune(t.Context())
	if must(t, err); p.Checkpoints != 3 || p.Bytes < 3*50_000 || p.Usage.Checkpoints != 0 || p.Usage.Objects != 0 {
		t.Errorf("%+v", p)
	}
	empty := &checkpoint.Store{Dir: filepath.Join(t.TempDir(), "none")}
	if u, err := empty.Usage(t.Context()); err != nil || u != (checkpoint.Usage{}) {
		t.Error(u, err)
	}
	if list, err := empty.List(t.Context(), session); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// Nothing is made where there is nothing.
func TestAbsent(t *testing.T) {
	s := newStore(t)
	must(t, s.Fork(t.Context(), session, "fork", 0))
	must(t, s.Drop(t.Context(), session))
	if p, err := s.Prune(t.Context()); err != nil || p != (checkpoint.Pruned{}) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := os.Lstat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A fork has the checkpoints as well; each session can go without the other.
func TestForkAndDrop(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	path := filepath.Join(root, "a")
	var ids []string
	for i := range 3 {
		must(t, os.WriteFile(path, fmt.Append(nil, i), 0o600))
		c, err := s.Take(t.Context(), checkpoint.Mark{Session: session, Seq: int64(10 * i)}, root)
		must(t, err)
		ids = append(ids, c.ID)
	}
	must(t, s.Fork(t.Context(), session, "fork", 10))
	must(t, s.Fork(t.Context(), session, "all", 0))
	if list, err := s.List(t.Context(), "all"); err != nil || len(list) != 3 {
		t.Error(list, err)
	}
	if names, err := s.Sessions(t.Context()); err != nil || !slices.Equal(names, []string{"all", "fork", session}) {
		t.Error(names, err)
	}
	must(t, s.Drop(t.Context(), session, "all", "never was"))
	list, err := s.List(t.Context(), "fork")
	if err != nil || len(list) != 2 || list[0].ID != ids[0] || list[1].Seq != 10 || list[1].Session != "fork" {
		t.Fatal(list, err)
	}
	if _, err := s.Restore(t.Context(), "fork", ids[0], checkpoint.Restoring{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "0" {
		t.Errorf("%q", got)
	}
	must(t, s.Drop(t.Context(), "fork"))
	if u, err := s.Usage(t.Context()); err != nil || u.Objects != 0 || u.Checkpoints != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	if err := s.Fork(t.Context(), session, "", 0); err == nil {
		t.Error("forked into a session without a name")
	}
}

// Data of a newer version of the program is left alone.
func TestNewerVersion(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"a": "1"})
	c := take(t, s, root)
	checkpoint.Rewrite(t, s, c)
	if _, err := s.Find(t.Context(), session, c.ID); !errors.Is(err, checkpoint.ErrVersion) {
		t.Error(err)
	}
	before, err := filepath.Glob(filepath.Join(s.Dir, "*", "*", "*"))
	must(t, err)
	if _, err := s.Prune(t.Context()); !errors.Is(err, checkpoint.ErrVersion) {
		t.Error(err)
	}
	after, err := filepath.Glob(filepath.Join(s.Dir, "*", "*", "*"))
	if must(t, err); len(before) != len(after) {
		t.Errorf("%q are left of %q", after, before)
	}
	if list, err := s.List(t.Context(), session); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}
