package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/safefile"
)

// RewindFiles brings the files back to an earlier fact. The program may die when the files are
// about to change, or in the middle: then the next one does it again.
type RewindFiles struct {
	Session int
	Back    int    // how many facts are taken back
	Busy    bool   // a run may be at work, and the call fails then
	Talk    bool   // the conversation goes back as well
	Crash   string // before or after the current files are on record; half: some files have changed
}

// A tree is a folder with all that is in it: mode and content by path.
type tree map[string]string

// saved is what the world knows about checkpoints. Its fields are guarded by world.mu.
type saved struct {
	states map[string]tree            // the files when a checkpoint was taken, by its id
	kept   map[string]map[string]bool // ids that the store must have, by session
	at     map[string]map[int64]tree  // the files when a fact was stored, by session and number
}

// ignored is the folder that git ignores, and waiting begins the names of those in which the
// library keeps new files until it has all of them.
const (
	ignored = "ignored"
	waiting = ".openagent-restore-"
)

// checkpoints gives an agent a store of checkpoints, on the disk that may fail if there is one.
func checkpoints(w *world, l *life, a *agent.Agent) {
	if !w.has("files") {
		files(w, l, a)
	}
	w.makeIgnored()
	store := w.checkpoints()
	a.Checkpoint = func(ctx context.Context, at agent.CheckpointPlace) (string, error) {
		w.steps.Add(1)
		if l.dead.Load() {
			return "", errDead
		}
		id, err := store.Take(ctx, at.Session, at.Prompt, at.Roots...)
		w.trace("checkpoint of %s: %v", at.Session, shortened(err))
		if err != nil {
			w.expect(err, "taking a checkpoint")
			return id, err
		}
		w.meet("checkpoint")
		w.keep(at.Session, id, w.tree())
		return id, nil
	}
}

// checkpoints returns the store as the present program finds it.
func (w *world) checkpoints() *checkpoint.Store {
	if w.fault.disk != nil {
		return &checkpoint.Store{Dir: w.fault.program.Path("checkpoints")}
	}
	return &checkpoint.Store{Dir: filepath.Join(filepath.Dir(w.filesRoot), "checkpoints")}
}

// makeIgnored makes files that no checkpoint covers.
func (w *world) makeIgnored() {
	if w.saved.states != nil {
		return
	}
	w.saved = saved{map[string]tree{}, map[string]map[string]bool{}, map[string]map[int64]tree{}}
	err := os.Mkdir(filepath.Join(w.filesRoot, ignored), 0o700)
	err = errors.Join(err, os.WriteFile(filepath.Join(w.filesRoot, ignored, "log.txt"), []byte("a line that git ignores\n"), 0o600))
	err = errors.Join(err, os.WriteFile(filepath.Join(w.filesRoot, ".gitignore"), []byte(ignored+"/\n"), 0o600))
	if err != nil {
		w.t.Fatal(err)
	}
}

// keep notes that the store has a checkpoint with these files.
func (w *world) keep(session, id string, files tree) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved.states[id] = files
	if w.saved.kept[session] == nil {
		w.saved.kept[session] = map[string]bool{}
	}
	w.saved.kept[session][id] = true
}

// tree reads the folder of the agent.
func (w *world) tree() tree { return readTree(w.filesRoot) }

func readTree(top string) tree {
	t := tree{}
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone
		}
		if e.Name() == ".git" || e.Name() == ".openagent" {
			return fs.SkipDir // the worktrees of agents
		}
		rel, _ := filepath.Rel(top, path)
		info, err := e.Info()
		if err != nil {
			return nil
		}
		text := ""
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			text, _ = os.Readlink(path)
		case e.Type().IsRegular():
			data, _ := os.ReadFile(path)
			text = string(data)
		}
		t[filepath.ToSlash(rel)] = info.Mode().String() + " " + text
		return nil
	})
	return t
}

// without returns the files without those below a folder, and without waiting ones.
func (t tree) without(folder string) tree {
	out := maps.Clone(t)
	maps.DeleteFunc(out, func(path, _ string) bool {
		return path == folder || strings.HasPrefix(path, folder+"/") || strings.HasPrefix(path, waiting)
	})
	return out
}

// differs says where two trees differ, "" if they do not.
func (t tree) differs(from tree) string {
	both := tree{}
	maps.Copy(both, t)
	maps.Copy(both, from)
	for _, path := range sorted(both) {
		if t[path] != from[path] {
			return fmt.Sprintf("%s is %q, not %q", path, t[path], from[path])
		}
	}
	return ""
}

// put makes the content of a folder that of a tree.
func (t tree) put(top string) (err error) {
	for path := range readTree(top) {
		if _, there := t[path]; !there {
			err = errors.Join(err, os.RemoveAll(filepath.Join(top, path)))
		}
	}
	for _, path := range sorted(t) { // folders before what is in them
		mode, text, _ := strings.Cut(t[path], " ")
		full := filepath.Join(top, path)
		switch mode[0] {
		case 'd':
			err = errors.Join(err, os.MkdirAll(full, 0o700))
		case 'L', 'l':
			_ = os.Remove(full)
			err = errors.Join(err, os.Symlink(text, full))
		default:
			err = errors.Join(err, os.WriteFile(full, []byte(text), 0o600))
		}
	}
	return err
}

func (o RewindFiles) run(w *world) {
	h := w.session(o.Session)
	if !o.Busy {
		w.await(h)
	}
	w.ledger.mu.Lock()
	n := len(w.ledger.facts[h.id])
	w.ledger.mu.Unlock()
	if n == 0 || w.saved.states == nil || w.life.dead.Load() {
		return
	}
	seq := int64(max(1, n-o.Back))
	w.rewindFiles(h, seq, o.Crash)
	if w.life.dead.Load() {
		w.live()
		h = w.session(slices.Index(w.handles, h))
		w.rewindFiles(h, seq, "")
	}
	if o.Talk && !w.life.dead.Load() {
		w.note("rewind", h.open.Rewind(w.life.ctx, seq))
	}
}

// rewindFiles rewinds the files of a session, and checks what has become of them.
func (w *world) rewindFiles(h *handle, seq int64, crash string) {
	store, before, outside := w.checkpoints(), w.tree(), w.outside()
	id, undo := "", ""
	var cut, kept tree // the folders when the program dies
	err := h.open.RewindFiles(w.life.ctx, seq, func(ctx context.Context, found string, record func(string) error) error {
		id = found
		_, err := store.Restore(ctx, h.id, id, func(u string) error {
			undo = u
			w.keep(h.id, u, before)
			switch crash {
			case "":
				return record(u)
			case "before":
				w.dieNow()
			}
			err := record(u)
			if cut = w.tree(); w.fault.disk == nil {
				kept = readTree(store.Dir)
			}
			w.dieNow()
			if crash == "half" {
				return err // the dead program carries on; the files are mixed below
			}
			return errDead
		})
		return err
	})
	after := w.tree()
	w.trace("files rewound to fact %d: %v", seq, shortened(err))
	if d := w.outside().differs(outside); d != "" {
		w.wrong("files", "rewinding files has changed something outside of the folder: %s", d)
	}
	w.mu.Lock()
	want := w.saved.states[id]
	sure := w.saved.kept[h.id][id]
	at := w.saved.at[h.id][seq]
	w.mu.Unlock()
	switch {
	case w.life.dead.Load():
		if cut != nil {
			w.leaveHalf(cut, after, crash)
			if kept != nil {
				w.try(kept.put(store.Dir), "putting the store back")
			}
			w.meet("crash while files are rewound")
		} else if a, b := after.without("").differs(before.without("")), after.without(ignored).differs(want.without(ignored)); a != "" && b != "" {
			w.wrong("files", "a crash leaves files that are neither new nor old: %s; %s", a, b)
		}
	case err != nil:
		missing := []error{agent.ErrNoCheckpoint}
		if _, damaged := errors.AsType[*fs.PathError](err); damaged || !sure || w.losing() {
			missing = append(missing, checkpoint.ErrNotFound)
		}
		if !w.losing() || id == "" {
			w.expect(err, "rewinding files", missing...)
		}
		if d := after.without("").differs(before.without("")); d != "" {
			w.wrong("files", "rewinding files failed (%v) and has changed files: %s", err, d)
		}
	case id == "":
		if d := after.differs(before); d != "" {
			w.wrong("files", "there was nothing to rewind, and files have changed: %s", d)
		}
		w.checkAt(h, seq, at, after)
	default:
		w.meet("files rewound")
		if d := after.without(ignored).differs(want.without(ignored)); d != "" {
			w.wrong("files", "after a rewind to %d with checkpoint %s: %s", seq, id, d)
		}
		for path, text := range before {
			if strings.HasPrefix(path, ignored) && after[path] != text {
				w.wrong("files", "a rewind has changed %s, which git ignores", path)
			}
		}
		for path := range after {
			if strings.HasPrefix(path, waiting) {
				w.wrong("files", "a rewind has left %s", path)
			}
		}
		if before.without(ignored).differs(after.without(ignored)) != "" && undo == "" {
			w.wrong("files", "a rewind has changed files, and nothing undoes it")
		}
		w.checkAt(h, seq, at, after)
	}
}

// checkAt checks that the files are as they were when a fact was stored. Only the session and
// its agents may have changed them.
func (w *world) checkAt(h *handle, seq int64, at, now tree) {
	if at == nil || len(w.handles) > 1 || w.agentsAt(h.id, seq) > 0 {
		return
	}
	if d := now.without(ignored).differs(at.without(ignored)); d != "" {
		w.wrong("files", "after a rewind of %s to fact %d the files are not as they were then: %s", h.id, seq, d)
	}
}

// agentsAt returns how many agents worked in the background when a fact was stored.
func (w *world) agentsAt(path string, seq int64) (n int) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	background := map[string]bool{}
	for _, e := range w.facts.get(path).all {
		if e.Seq > seq {
			break
		}
		switch d := e.Data.(type) {
		case event.AgentStart:
			background[d.Session] = d.Background
		case event.AgentEnd:
			delete(background, d.Session)
		}
	}
	for _, b := range background {
		if b {
			n++
		}
	}
	return n
}

// dieNow kills the program at once.
func (w *world) dieNow() {
	w.life.die("killed while files are rewound")
	if w.fault.program != nil {
		w.fault.program.Kill()
	}
}

// leaveHalf leaves the files as a program does that dies while it changes them. The folder of files
// that wait is there. With crash "half", some of the other files have changed.
func (w *world) leaveHalf(cut, after tree, crash string) {
	left := maps.Clone(cut)
	if crash == "half" {
		for path := range after.without("") {
			if !strings.HasPrefix(cut[path], "d") && !strings.HasPrefix(after[path], "d") && w.number("half", path)%2 == 0 {
				if dir := filepath.Dir(path); cut[dir] != "" {
					left[path] = after[path]
				}
			}
		}
		for path, text := range cut.without("") {
			if after[path] == "" && !strings.HasPrefix(text, "d") && w.number("half", path)%2 == 0 {
				delete(left, path)
			}
		}
	}
	w.try(left.put(w.filesRoot), "putting files back")
}

// try fails the test if the simulator itself could not do something.
func (w *world) try(err error, what string) {
	if err != nil {
		w.t.Errorf("%s: %v", what, err)
	}
}

// outside reads what is beside the folder.
func (w *world) outside() tree {
	t := readTree(filepath.Dir(w.filesRoot))
	maps.DeleteFunc(t, func(path, _ string) bool {
		top, _, _ := strings.Cut(path, "/")
		return top == "w" || top == "checkpoints" || path == "."
	})
	return t
}

// losing reports whether the disk may have lost checkpoints.
func (w *world) losing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.met["power loss"] || w.met["disk full"] || w.met["disk fails"]
}

// seesTree notes the files when facts of a session at the root are stored.
func (w *world) seesTree(path string, es []event.Event, copied bool) {
	if w.saved.states == nil || copied || strings.Contains(path, "/") || len(es) == 0 {
		return
	}
	now := w.tree()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.saved.at[path] == nil {
		w.saved.at[path] = map[int64]tree{}
	}
	for _, e := range es {
		if d, ok := e.Data.(fact.Checkpointed); ok && d.Key == "" {
			delete(w.saved.at[path], e.Seq) // the files change right after it
			continue
		}
		w.saved.at[path][e.Seq] = now
	}
}

// forkCheckpoints gives a fork the checkpoints of its original.
func (w *world) forkCheckpoints(from, to string, through int64) {
	if w.saved.states == nil {
		return
	}
	store := w.checkpoints()
	err := store.Fork(w.life.ctx, from, to, through)
	if w.life.dead.Load() {
		return
	}
	w.expect(err, "forking checkpoints")
	if w.losing() {
		return
	}
	list, err := store.List(w.life.ctx, to)
	w.expect(err, "listing checkpoints")
	for _, c := range list {
		w.mu.Lock()
		files := w.saved.states[c.ID]
		w.mu.Unlock()
		if files != nil { // else a rewind that changed nothing has taken it
			w.keep(to, c.ID, files)
		}
	}
}

// checkCheckpoints checks what the store has at the end, and brings the newest files back.
func (w *world) checkCheckpoints() {
	if w.saved.states == nil {
		return
	}
	store, ctx := w.checkpoints(), context.Background()
	if _, err := store.Take(ctx, "the end", 1, w.filesRoot); err != nil && !w.losing() {
		w.wrong("files", "taking a checkpoint at the end: %v", err)
	}
	for path := range w.tree() {
		if strings.HasPrefix(path, waiting) || strings.Contains(path, ".openagent-tmp") {
			w.wrong("files", "%s is left at the end", path)
		}
	}
	if w.losing() {
		return
	}
	if err := store.Verify(ctx); err != nil {
		w.wrong("files", "verifying checkpoints: %v", err)
	}
	if left, err := safefile.ReadDir(filepath.Join(store.Dir, "tmp")); !w.met["crash"] && (err != nil && !errors.Is(err, fs.ErrNotExist) || len(left) > 0) {
		w.wrong("files", "the store of checkpoints has temporary files: %v, %v", left, err)
	}
	for _, session := range sorted(w.saved.kept) {
		for _, id := range sorted(w.saved.kept[session]) {
			want := w.saved.states[id]
			if _, err := store.Restore(ctx, session, id, nil); err != nil {
				w.wrong("files", "restoring checkpoint %s of %s at the end: %v", id, session, err)
			}
			if d := w.tree().without(ignored).differs(want.without(ignored)); d != "" {
				w.wrong("files", "checkpoint %s of %s at the end: %s", id, session, d)
			}
		}
	}
}

// changingPaths are files that calls change before files are rewound.
var changingPaths = []string{"open/a.txt", "open/a.txt", "open/b.txt", "open/new.txt", "open/sub/new.txt", "open/sub/other.txt", "ignored/new.txt", "open/link.txt", "locked/new.txt", "hidden/k.txt"}

func changingCall(g *gen, _ int) Call {
	return Call{Tool: pick(g, "Write", "Write", "Edit", "Read"), Target: pick(g, changingPaths...)}
}

func rewindOp(g *gen) Op {
	if g.one(3) {
		p := filePrompt(g).(Prompt)
		for range 1 + g.IntN(2) {
			p.Turns = append(p.Turns, Turn{Calls: []Call{changingCall(g, 0)}})
		}
		return p
	}
	return RewindFiles{g.IntN(3), g.IntN(30), g.one(6), g.one(2), pick(g, "", "", "before", "after", "half")}
}
