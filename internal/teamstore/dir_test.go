package teamstore_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/teamtest"
	"github.com/openagent-go/agent/session"
)

func TestDir(t *testing.T) {
	teamtest.Run(t, func(t *testing.T, clock *teamtest.Clock) teamtest.Store {
		return open(t, &teamstore.Dir{Path: t.TempDir(), Now: clock.Now})
	})
}

// open closes a Dir at the end of the test.
func open(t *testing.T, d *teamstore.Dir) *teamstore.Dir {
	t.Helper()
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func journal(d *teamstore.Dir, space string) string {
	return filepath.Join(d.Path, space, d.In, "journal.jsonl")
}

// all is the whole content of a store.
func all(t *testing.T, s teamtest.Store, space string) string {
	t.Helper()
	tasks, err := s.Tasks(t.Context(), space, teamstore.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	teams, err := s.Teams(t.Context(), space)
	if err != nil {
		t.Fatal(err)
	}
	agents, err := s.Agents(t.Context(), space)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"tasks": tasks, "teams": teams, "agents": agents})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDirLikeMemory: for any requests, two programs with one folder, and those that open it
// again, answer like the store in memory.
func TestDirLikeMemory(t *testing.T) {
	t.Parallel() // disks are waited for
	clock := &teamtest.Clock{}
	clock.Advance(time.Hour)
	model := &teamstore.Memory{Now: clock.Now, Box: 5}
	dir := t.TempDir()
	dirs := []*teamstore.Dir{open(t, &teamstore.Dir{Path: dir, Now: clock.Now, Box: 5}), open(t, &teamstore.Dir{Path: dir, Now: clock.Now, Box: 5})}
	r := rand.New(rand.NewPCG(7, 8))
	long := strings.Repeat("long\n", 8000)
	of := func(names ...string) string { return names[r.IntN(len(names))] }
	id := func() string { return fmt.Sprintf("task_%d", 1+r.IntN(20)) }
	agent := func() string { return of("ann", "bob", "carl", "dora", "*", "") }
	ids := func() []string { return [][]string{nil, {}, {id()}, {id(), id()}}[r.IntN(4)] }
	ctx := t.Context()
	for _, s := range []teamtest.Store{model, model, model, model, dirs[0], dirs[1], dirs[0], dirs[1]} {
		if _, err := s.AddTask(ctx, "s", teamstore.Task{Subject: "first"}); err != nil {
			t.Fatal(err)
		}
	}
	for step := range 400 {
		var op func(s teamtest.Store) (any, error)
		switch r.IntN(13) {
		case 0:
			x := teamstore.Task{Subject: of("a", "b", ""), Status: teamstore.Status(of("", "pending", "in_progress")), Owner: agent(), BlockedBy: ids(), Blocks: ids(),
				Metadata: map[string]json.RawMessage{"k": json.RawMessage(of(`{ "a" : "<&>" }`, "null", "{"))}}
			op = func(s teamtest.Store) (any, error) { return s.AddTask(ctx, "s", x) }
		case 1, 2, 3, 4:
			status, owner, output := teamstore.Status(of("", "", "pending", "in_progress", "in_progress", "completed", "failed", "x")), agent(), "short"
			c := teamstore.Change{Status: status, Lease: time.Duration(r.IntN(60)) * time.Second, BlockedBy: ids(), Blocks: ids(), Holder: of("", "", "ann")}
			if r.IntN(2) == 0 {
				c.Owner, c.Output = &owner, &output
			}
			which := id()
			op = func(s teamtest.Store) (any, error) { return s.UpdateTask(ctx, "s", which, c) }
		case 5:
			name, leader, member := of("red", "blue"), agent(), agent()
			op = func(s teamtest.Store) (any, error) {
				return s.CreateTeam(ctx, "s", name, leader, []string{member}, "x")
			}
		case 6:
			name, member, add := of("red", "blue", "team_1"), agent(), r.IntN(3) > 0
			op = func(s teamtest.Store) (any, error) {
				if add {
					return s.AddMember(ctx, "s", name, member)
				}
				return s.RemoveMember(ctx, "s", name, member)
			}
		case 7:
			if r.IntN(8) > 0 {
				continue
			}
			name := of("red", "blue")
			op = func(s teamtest.Store) (any, error) { return s.Disband(ctx, "s", name) }
		case 8:
			name, begin := agent(), r.IntN(2) == 0
			op = func(s teamtest.Store) (any, error) {
				if begin {
					return nil, s.Register(ctx, "s", teamstore.Agent{Name: name, Type: "x"})
				}
				return nil, s.Unregister(ctx, "s", name)
			}
		case 9, 10:
			m := teamstore.Message{ID: of("", "", fmt.Sprint(r.IntN(10))), From: agent(), To: agent(), Content: of("x", "", "y\u2028<")}
			op = func(s teamtest.Store) (any, error) { return s.Send(ctx, "s", m) }
		case 11:
			name, fails := agent(), r.IntN(4) == 0
			op = func(s teamtest.Store) (out any, err error) {
				err = s.Take(ctx, "s", name, func(m []teamstore.Message) error {
					if out = m; fails {
						return errors.New("not kept")
					}
					return nil
				})
				return out, err
			}
		case 12:
			which := fmt.Sprintf("task_%d", 1+r.IntN(4))
			op = func(s teamtest.Store) (any, error) {
				return s.UpdateTask(ctx, "s", which, teamstore.Change{Output: &long})
			}
		}
		d := dirs[r.IntN(2)]
		said := func(v any, err error) string {
			text, encodes := json.Marshal(v)
			if encodes != nil {
				t.Fatal(encodes)
			}
			return fmt.Sprintf("%s, error %v", text, err)
		}
		want, got := said(op(model)), said(op(d))
		if got != want {
			t.Fatalf("step %d: got %.2000s\nwant %.2000s", step, got, want)
		}
		clock.Advance(time.Duration(r.IntN(20)) * time.Second)
		if r.IntN(20) == 0 {
			fresh := &teamstore.Dir{Path: dir, Now: clock.Now}
			for _, d := range []*teamstore.Dir{dirs[r.IntN(2)], fresh} {
				if want, got := all(t, model, "s"), all(t, d, "s"); got != want {
					t.Fatalf("step %d: got %.2000s\nwant %.2000s", step, got, want)
				}
			}
			if err := fresh.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(journal(dirs[0], "s"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`"do":"had_all"`)) {
		t.Error("the journal was never rewritten: the test is idle")
	}
}

// TestDirCut: wherever a crash cuts the journal, whole lines stay, the rest is cut off and
// reported, and work continues.
func TestDirCut(t *testing.T) {
	t.Parallel() // disks are waited for
	d := open(t, &teamstore.Dir{Path: t.TempDir()})
	for i := range 3 {
		if _, err := d.AddTask(t.Context(), "s", teamstore.Task{Subject: fmt.Sprint("n", i)}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(journal(d, "s"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n += 1 + n%17 {
		for _, rest := range []string{"", "\x00\x00\x00"} {
			var log bytes.Buffer
			d := &teamstore.Dir{Path: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))}
			if err := os.Mkdir(filepath.Join(d.Path, "s"), 0o700); err != nil {
				t.Fatal(err)
			}
			text := append(bytes.Clone(whole[:n]), rest...)
			if err := os.WriteFile(journal(d, "s"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			want := max(bytes.Count(whole[:n], []byte("\n"))-1, 0)
			got, err := d.Tasks(t.Context(), "s", teamstore.Filter{})
			if err != nil || len(got) != want {
				t.Fatalf("cut at %d %q: %d tasks, want %d, %v", n, rest, len(got), want, err)
			}
			torn := len(text) > 0 && (rest != "" || whole[n-1] != '\n')
			if told := strings.Contains(log.String(), "cutting off"); told != torn {
				t.Errorf("cut at %d %q: the log says %q", n, rest, log.String())
			}
			if n%2 == 0 {
				if made, err := d.AddTask(t.Context(), "s", teamstore.Task{Subject: "next"}); err != nil || made.ID != fmt.Sprintf("task_%d", want+1) {
					t.Errorf("cut at %d: %+v, %v", n, made, err)
				}
				want++
			}
			log.Reset()
			again := &teamstore.Dir{Path: d.Path, Log: d.Log}
			if got, err := again.Tasks(t.Context(), "s", teamstore.Filter{}); err != nil || len(got) != want || log.Len() > 0 {
				t.Errorf("cut at %d %q: afterwards there are %d tasks, want %d, %v, %s", n, rest, len(got), want, err, log.String())
			}
			if err := errors.Join(d.Close(), again.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDirFlips: each flipped bit is damage, in the last act and its newline too, and the
// file stays as it is.
func TestDirFlips(t *testing.T) {
	t.Parallel() // disks are waited for
	d := open(t, &teamstore.Dir{Path: t.TempDir()})
	if _, err := d.AddTask(t.Context(), "s", teamstore.Task{Subject: "x"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(journal(d, "s"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		for bit := range 8 {
			flipped := bytes.Clone(text)
			flipped[i] ^= 1 << bit
			d := open(t, &teamstore.Dir{Path: t.TempDir()})
			if err := os.Mkdir(filepath.Join(d.Path, "s"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(journal(d, "s"), flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := d.Tasks(t.Context(), "s", teamstore.Filter{}); err == nil {
				t.Errorf("bit %d of byte %d was not noticed: %d tasks", bit, i, len(got))
			}
			if now, err := os.ReadFile(journal(d, "s")); err != nil || !bytes.Equal(now, flipped) {
				t.Errorf("bit %d of byte %d: the damaged file was touched, %v", bit, i, err)
			}
		}
	}
}

// TestDirDamaged: what no crash leaves is an error, and the file stays as it is.
func TestDirDamaged(t *testing.T) {
	t.Parallel() // disks are waited for
	seed := open(t, &teamstore.Dir{Path: t.TempDir()})
	for range 3 {
		if _, err := seed.AddTask(t.Context(), "s", teamstore.Task{Subject: "x", Description: "abc"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(journal(seed, "s"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for name, x := range map[string]struct {
		text []byte
		want string
	}{
		"a changed byte":    {bytes.Replace(text, []byte("abc"), []byte("abd"), 1), "damaged"},
		"a lost line":       {bytes.Join([][]byte{lines[0][:10], lines[1], lines[2]}, nil), "damaged"},
		"no header":         {bytes.Join(lines[1:], nil), "damaged"},
		"another space":     {[]byte(teamstore.Seal(`{"openagent_team":1,"space":"t"}`)), `space \"t\"`},
		"a newer version":   {[]byte(teamstore.Seal(`{"openagent_team":2,"space":"s"}`)), "newer version"},
		"an unknown act":    {append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"dance","act":{}}`)...), "newer version"},
		"a refused act":     {append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"change_task","act":{"id":"task_9"}}`)...), "no such task"},
		"an act of no sort": {append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"add_task","act":[]}`)...), "damaged"},
		"half a beginning":  {append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"had_agent","act":{"agent":{"name":"a"}}}`)...), "not complete"},
		"a task that waits for itself": {append(append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"had_task","act":{"task":{"id":"task_1","subject":"x","status":"pending","blockedBy":["task_1"],"blocks":["task_1"]}}}`)...),
			teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"had_all","act":{}}`)...), "wait for each other"},
		"tasks that wait for each other": {append(append(append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"had_task","act":{"task":{"id":"task_1","subject":"x","status":"pending","blockedBy":["task_2"],"blocks":["task_2"]}}}`)...),
			teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"had_task","act":{"task":{"id":"task_2","subject":"x","status":"pending","blockedBy":["task_1"],"blocks":["task_1"]}}}`)...),
			teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"had_all","act":{}}`)...), "wait for each other"},
		"a message to nobody":       {append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"had_message","act":{"message":{"to":"x"}}}`)...), "no mailbox"},
		"more taken than there was": {append(bytes.Clone(lines[0]), teamstore.Seal(`{"at":"2026-01-01T00:00:00Z","do":"taken","act":{"agent":"x","count":1}}`)...), "does not hold"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, &teamstore.Dir{Path: t.TempDir()})
			if err := os.Mkdir(filepath.Join(d.Path, "s"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(journal(d, "s"), x.text, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err := d.AddTask(t.Context(), "s", teamstore.Task{Subject: "y"})
				if !errors.Is(err, teamstore.ErrDamaged) || !strings.Contains(fmt.Sprintf("%q", err.Error()), x.want) || !strings.Contains(err.Error(), d.Path) {
					t.Errorf("error %v", err)
				}
			}
			if after, err := os.ReadFile(journal(d, "s")); err != nil || !bytes.Equal(after, x.text) {
				t.Errorf("the file has changed: %q, %v", after, err)
			}
		})
	}
}

// TestDirLimit: a space that is full refuses more and takes what makes it smaller.
func TestDirLimit(t *testing.T) {
	t.Parallel() // disks are waited for
	d := open(t, &teamstore.Dir{Path: t.TempDir()})
	d.Most(100_000)
	big, small := strings.Repeat("x", 30_000), ""
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = d.AddTask(t.Context(), "s", teamstore.Task{Subject: "x", Output: big})
	}
	if !errors.Is(err, teamstore.ErrLimit) || n < 3 || n > 5 {
		t.Fatalf("task %d: %v", n, err)
	}
	for range 3 {
		_, err = d.UpdateTask(t.Context(), "s", "task_1", teamstore.Change{Output: &small})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err = d.AddTask(t.Context(), "s", teamstore.Task{Subject: "x", Output: big}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(journal(d, "s"), make([]byte, 200_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = d.Tasks(t.Context(), "s", teamstore.Filter{}); !errors.Is(err, teamstore.ErrLimit) {
		t.Errorf("a journal that is too large: %v", err)
	}
}

// TestDirPlaces: names of spaces lead nowhere else, links are not followed, and
// files are for the owner alone.
func TestDirPlaces(t *testing.T) {
	t.Parallel() // disks are waited for
	root := t.TempDir()
	d := open(t, &teamstore.Dir{Path: filepath.Join(root, "made", "here"), In: "team"})
	for _, space := range []string{"s", "0198a-b_c.d", "../../x", "a/b", "", "..", ".x", "x.", "COM1 ", "grün", strings.Repeat("x", 900)} {
		if made, err := d.AddTask(t.Context(), space, teamstore.Task{Subject: "x"}); err != nil || made.ID != "task_1" {
			t.Errorf("%q: %+v, %v", space, made, err)
		}
	}
	if _, err := d.AddTask(t.Context(), "\xff", teamstore.Task{Subject: "x"}); !errors.Is(err, teamstore.ErrInvalid) {
		t.Errorf("a space that is not UTF-8: %v", err)
	}
	for _, name := range []string{"s", "0198a-b_c.d"} {
		if _, err := os.Stat(journal(d, name)); err != nil {
			t.Error(err)
		}
	}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadDir(root); err != nil || len(all) != 1 {
		t.Errorf("in the folder above are %v, %v", all, err)
	}
	elsewhere := filepath.Join(root, "elsewhere")
	if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(d.Path, "linked", "team"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, journal(d, "linked")); err != nil {
		t.Skip(err)
	}
	if _, err := d.AddTask(t.Context(), "linked", teamstore.Task{Subject: "x"}); err == nil {
		t.Error("a link was followed")
	}
}

// TestDirFolderGone: a folder that is removed in between is created again.
func TestDirFolderGone(t *testing.T) {
	t.Parallel() // disks are waited for
	d := open(t, &teamstore.Dir{Path: t.TempDir()})
	for range 2 {
		if made, err := d.AddTask(t.Context(), "s", teamstore.Task{Subject: "x"}); err != nil || made.ID != "task_1" {
			t.Fatalf("%+v, %v", made, err)
		}
		if err := os.RemoveAll(filepath.Join(d.Path, "s")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDirCopy: a copy has tasks and teams of its own, and looking leaves no traces.
func TestDirCopy(t *testing.T) {
	t.Parallel()
	d := open(t, &teamstore.Dir{Path: t.TempDir()})
	for _, x := range []teamstore.Task{{Subject: "a", Status: teamstore.Completed}, {Subject: "b", Status: teamstore.InProgress, Owner: "ann", BlockedBy: []string{"task_1"}}, {Subject: "c", BlockedBy: []string{"task_2"}}} {
		if _, err := d.AddTask(t.Context(), "s", x); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Copy(t.Context(), "s", "copy"), d.Copy(t.Context(), "none", "other")); err != nil {
		t.Fatal(err)
	}
	if err := d.Copy(t.Context(), "s", "copy"); !errors.Is(err, teamstore.ErrInvalid) {
		t.Errorf("copying over a copy: %v", err)
	}
	again := open(t, &teamstore.Dir{Path: d.Path})
	if got, err := teamstore.Claim(t.Context(), again, "copy", "bob", 0); err != nil || got.ID != "task_2" {
		t.Errorf("claimed in the copy: %+v, %v", got, err)
	}
	if got, err := again.Task(t.Context(), "s", "task_2"); err != nil || got.Owner != "ann" {
		t.Errorf("the original has %+v, %v", got, err)
	}
	if got, err := again.TeamOf(t.Context(), "copy", "ann"); err != nil || got.Name != "red" {
		t.Errorf("the team of the copy is %+v, %v", got, err)
	}
	if _, err := again.Tasks(t.Context(), "nothing", teamstore.Filter{}); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(d.Path); err != nil || len(all) != 2 {
		t.Errorf("there are %v, %v", all, err)
	}
}

// TestDirWatchOthers: mail that another program sends is reported within a moment.
func TestDirWatchOthers(t *testing.T) {
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		sender, reader := open(t, &teamstore.Dir{Path: path}), open(t, &teamstore.Dir{Path: path})
		if _, err := sender.CreateTeam(t.Context(), "s", "red", "lead", []string{"ann"}, ""); err != nil {
			t.Fatal(err)
		}
		c, err := reader.Watch(t.Context(), "s", "ann")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := sender.Send(t.Context(), "s", teamstore.Message{From: "lead", To: "ann", Content: "x"}); err != nil {
				t.Fatal(err)
			}
			sent := time.Now()
			<-c
			if late := time.Since(sent); late > 200*time.Millisecond {
				t.Errorf("told after %s", late)
			}
		}
		time.Sleep(time.Second)
		select {
		case <-c:
			t.Error("told of nothing new")
		default:
		}
	})
}

// The tasks of a session lie in its folder, whatever its id, so that they are deleted with
// it. A folder of an older version, which had a hash for a name, is still used.
func TestDirBesideSessions(t *testing.T) {
	t.Parallel() // disks are waited for
	d := open(t, &teamstore.Dir{Path: t.TempDir(), In: "team"})
	sessions := session.Dir(d.Path)
	ids := []string{"plain", "user@example.com", "grün und blau", ".hidden", strings.Repeat("x", 200)}
	if runtime.GOOS != "windows" {
		ids = append(ids, "chat:42", "why?", "end.")
	}
	for _, id := range ids {
		if _, err := d.AddTask(t.Context(), id, teamstore.Task{Subject: "x"}); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(sessiondir.Journal(sessions, id)), "team", "journal.jsonl")); err != nil {
			t.Error(err)
		}
	}
	const old = "an old one"
	sum := sha256.Sum256([]byte(old))
	folder := filepath.Join(d.Path, "space-"+hex.EncodeToString(sum[:16]))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "team"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.AddTask(t.Context(), old, teamstore.Task{Subject: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "team", "journal.jsonl")); err != nil {
		t.Error(err)
	}
}
