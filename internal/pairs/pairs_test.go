//go:build linux

package pairs

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
)

var (
	triples = flag.Int("triples", 0, "combinations of three features to try, picked at random")
	seed    = flag.Uint64("seed", 1, "of what is picked at random")
)

// Each pair of features keeps the invariants of every run: without a cut, and killed at a
// moment picked at random and resumed.
func TestPairs(t *testing.T) {
	for _, f := range scenarios() {
		t.Run(f.String(), func(t *testing.T) { try(t, f, *seed) })
	}
}

// scenarios are those of TestPairs.
func scenarios() []features {
	var list []features
	for i, a := range all {
		for _, b := range all[i+1:] {
			list = append(list, features{a, b})
		}
	}
	return list
}

// Combinations of three are tried where -triples asks for them.
func TestTriples(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 3))
	for n := range *triples {
		p := r.Perm(len(all))[:3]
		slices.Sort(p)
		f := features{all[p[0]], all[p[1]], all[p[2]]}
		t.Run(f.String(), func(t *testing.T) { try(t, f, *seed+uint64(n)) })
	}
}

func try(t *testing.T, f features, seed uint64) {
	t.Parallel()
	if f.has("sandbox") && !confines(t) {
		t.Skip("commands cannot be confined here")
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(f.String()))))
	t.Run("whole", func(t *testing.T) {
		w := newWorld(t, f)
		w.run(t, "run", 0)
		w.check(t, false)
	})
	t.Run("killed", func(t *testing.T) {
		w := newWorld(t, f)
		kills := []int{2 + r.IntN(28)}
		if f.has("resume") {
			kills = append(kills, 2+r.IntN(8))
		}
		killed := false
		for _, n := range kills {
			killed = w.run(t, "run", n) || killed
		}
		w.run(t, "run", 0)
		t.Logf("killed before appends %v: %v", kills, killed)
		w.check(t, killed)
	})
}

func confines(t *testing.T) bool {
	box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: t.TempDir()})
	if err == nil {
		box.Close()
	}
	return err == nil
}

// attack tries what the sandbox keeps commands from, where no rule sees it: it reads a
// denied file, in the folder that it runs in and in the project, and writes outside.
const attack = `cat hidden/key; cat "%[1]s/hidden/key"; cat "%[1]s"/.openagent/worktrees/*/hidden/key
echo changed > "%[2]s/tripwire"
echo ATTACKED
`

const jobSkill = "---\nname: job\ndescription: How the work is done\n---\nDo the work.\n"

func newWorld(t *testing.T, f features) *world {
	w := &world{dir: t.TempDir(), features: f}
	for name, text := range map[string]string{"project/notes.txt": "notes\n", "project/denied.txt": secret, "outside/tripwire": tripwire,
		"project/hidden/key": secret, "project/attack.sh": fmt.Sprintf(attack, filepath.Join(w.dir, "project"), filepath.Join(w.dir, "outside")),
		"project/.agents/skills/job/SKILL.md": jobSkill, "project/.gitignore": ".openagent\n",
		"project/.openagent/memory/" + oldID + ".md": "---\ntitle: " + oldLesson + "\nkind: convention\nstate: active\n---\n"} {
		path := filepath.Join(w.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{"init -q", "add .", "commit -q -m first"} {
		cmd := exec.Command("git", append([]string{"-C", w.project(), "-c", "user.name=a", "-c", "user.email=a@example.com"}, strings.Fields(args)...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	w.begun = w.files(t)
	return w
}

// run runs a phase of the scenario in a program of its own. It reports whether that was
// killed. Approvals come from further programs, between parts of the run.
func (w *world) run(t *testing.T, phase string, kill int) (killed bool) {
	t.Helper()
	for i := 0; ; i++ {
		if _, killed := w.start(t, phase, kill); killed || phase != "run" || !w.features.has("approval") {
			return killed
		}
		if out, _ := w.start(t, "decide", 0); strings.HasPrefix(out, "0 "+decided) {
			return false
		}
		if i == 10 {
			t.Fatal("the run has asked ten times")
		}
	}
}

// start runs a phase in a program of its own, and returns what it prints.
func (w *world) start(t *testing.T, phase string, kill int) (printed string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostDir+"="+w.dir, hostFeatures+"="+strings.Join(w.features, ","), hostPhase+"="+phase, fmt.Sprint(hostKill, "=", kill), "HOME="+w.dir,
		"GORACE=atexit_sleep_ms=0") // else each program lives for another second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if kill > 0 && errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return "", true
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", phase, err, out)
	}
	return string(out), false
}

// check looks for what must be so after every scenario.
func (w *world) check(t *testing.T, killed bool) {
	t.Helper()
	w.checkFiles(t, killed)
	w.checkJournals(t, killed)
	w.checkMemory(t, killed)
	w.checkProcesses(t)
	w.run(t, "replay", 0)
	if w.features.has("fork") {
		before := tree(t, w.sessions(), mainID)
		w.run(t, "fork", 0)
		if after := tree(t, w.sessions(), mainID); before != after {
			t.Error("the fork has changed the original")
		}
		w.checkFiles(t, killed)
		w.checkProcesses(t)
		w.checkFork(t)
	}
	if w.features.has("rewind") {
		w.run(t, "rewind", 0)
		if now := w.files(t); now != w.begun {
			t.Errorf("rewinding has left\n%s\nof\n%s", now, w.begun)
		}
	}
}

// files are those of the main tree, without its worktrees, and what they hold.
func (w *world) files(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.project(), func(path string, d fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(w.project(), path); {
		case err != nil:
			return err
		case rel == ".git" || rel == ".openagent":
			return fs.SkipDir
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %v %q\n", rel, d.Type(), text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// checkFiles checks that every call ran once at most, and that none ran that was
// forbidden.
func (w *world) checkFiles(t *testing.T, killed bool) {
	t.Helper()
	ran := map[string]int{}
	for _, dir := range []string{w.project(), w.outside()} {
		for path, n := range w.counts(t, dir) {
			ran[filepath.Base(path)] += n
			inMain := filepath.Dir(path) == w.project()
			apart := w.features.has("worktree") && !w.features.has("sub-agent")
			byChild := strings.HasSuffix(path, "-4") || strings.HasSuffix(path, "-6")
			if inMain && (apart && !strings.HasSuffix(path, "-1") || w.features.has("worktree") && byChild) {
				t.Errorf("%s was written in the main tree", path)
			}
		}
	}
	for name, n := range ran {
		if strings.HasPrefix(name, "raw-") {
			t.Errorf("%s: a call ran as it was before the hook changed it", name)
		}
		if n > 1 {
			t.Errorf("the call of %s ran %d times", name, n)
		}
	}
	if w.features.has("plan mode") && ran["count-1"] > 0 {
		t.Error("a call that changes something ran in plan mode")
	}
	for _, n := range w.features.expected() {
		name := fmt.Sprint("count-", n)
		if !killed && ran[name] != 1 {
			t.Errorf("the call of %s ran %d times, want once", name, ran[name])
		}
	}
	for path, want := range map[string]string{"outside/tripwire": tripwire, "project/denied.txt": secret, "project/hidden/key": secret, "project/notes.txt": "notes\n"} {
		if got, err := os.ReadFile(filepath.Join(w.dir, path)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", path, got, err)
		}
	}
}

// checkMemory checks that the session was told once what was learned before, and that the memory
// has what was added outside of plan mode, as candidates.
func (w *world) checkMemory(t *testing.T, killed bool) {
	t.Helper()
	if !w.features.has("memory") {
		return
	}
	told := 0
	for e, err := range session.Dir(w.sessions()).Read(t.Context(), mainID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Data.(event.UserMessage); ok && strings.Contains(m.Message.Text(), oldLesson) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the session was told %d times what was learned before", told)
	}
	entries, problems, err := w.memory().Entries()
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	titles := map[string]int{}
	for _, e := range entries {
		titles[e.Title]++
		if active := e.State == memory.Active; active != (e.ID == oldID) {
			t.Errorf("the entry %q is %s", e.Title, e.State)
		}
		if e.ID == oldID && (e.Confirmations > 1 || !killed && e.Confirmations != 1) {
			t.Errorf("%q was confirmed %d times, want once", e.Title, e.Confirmations)
		}
	}
	if titles[planLesson] > 0 {
		t.Error("the memory changed in plan mode")
	}
	if !killed && titles[ownLesson] != 1 {
		t.Errorf("%q was added %d times, want once", ownLesson, titles[ownLesson])
	}
}

// counts are the files in which calls have left marks, and how many.
func (w *world) counts(t *testing.T, dir string) map[string]int {
	t.Helper()
	out := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "count-") && !strings.HasPrefix(d.Name(), "raw-") {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = bytes.Count(text, []byte("\n"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// checkJournals checks that every call has one result, that what is denied is nowhere to
// be read, and that what was used is counted once.
func (w *world) checkJournals(t *testing.T, killed bool) {
	t.Helper()
	store := session.Dir(w.sessions())
	book, err := account.Read(store.Read(t.Context(), mainID, 0))
	if err != nil {
		t.Fatal(err)
	}
	own, all := w.checkJournal(t, store, mainID, true)
	under := session.Under(store, mainID)
	if list, err := under.List(t.Context()); err != nil {
		t.Error(err)
	} else {
		for _, info := range list {
			// An agent in the background that died with its program goes on when it is asked to.
			_, used := w.checkJournal(t, under, info.Session, !killed || !w.features.has("background"))
			all += used
		}
	}
	if c := book.Cost(); c.Prompts != 1 || c.Turns != own || !killed && c.Usage.Output != all {
		t.Errorf("one prompt with %d answers and %d tokens of output is counted as %d prompts, %d turns and %d tokens", own, all, c.Prompts, c.Turns, c.Usage.Output)
	}
	attacked := false
	err = filepath.WalkDir(w.sessions(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds what was denied", path)
			}
			attacked = attacked || bytes.Contains(text, []byte("ATTACKED"))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if w.features.has("sandbox") && !killed && !attacked {
		t.Error("the command that tries to get out of the sandbox did not run")
	}
}

// checkJournal returns the answers of the model in a session and their tokens. ends says
// that its run must have come to an end.
func (w *world) checkJournal(t *testing.T, store session.Store, id string, ends bool) (answers, tokens int) {
	t.Helper()
	open := map[string]string{}
	results := map[string]int{}
	var end *event.RunEnd
	main := id == mainID
	for e, err := range store.Read(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch f := e.Data.(type) {
		case event.AssistantMessage:
			answers++
			tokens += f.Response.Usage.Output
			if want := w.features.model(); main && f.Model != want {
				t.Errorf("%s has answered, want %s", f.Model, want)
			}
			for i, u := range f.Response.Message.ToolUses() {
				open[fmt.Sprintf("c%d.%d", e.Seq, i)] = u.Name
			}
		case fact.Answered:
			if open[f.Call] == "Deploy" && f.Decision.By != person && f.Decision.Behavior == permission.Allowed {
				t.Errorf("session %s: %q has approved, want %q", id, f.Decision.By, person)
			}
		case event.ToolResult:
			results[f.Call]++
			if open[f.Call] == "Glob" && !f.Result.IsError {
				t.Errorf("session %s: a tool ran that is not among those of the prompt", id)
			}
			delete(open, f.Call)
		case event.RunEnd:
			end = &f
		}
	}
	for call, n := range results {
		if n != 1 {
			t.Errorf("session %s: the call %s has %d results", id, call, n)
		}
	}
	if end == nil && !ends {
		return answers, tokens
	}
	if end == nil || len(open) > 0 || end.Reason != event.Completed || end.Text != "done" {
		t.Errorf("session %s: calls without a result: %v; the end is %+v", id, open, end)
	}
	return answers, tokens
}

// model is the model of the first prompt.
func (f features) model() string {
	if f.has("options") {
		return optionModel
	}
	return agentModel
}

// checkFork checks that the options of the original's prompt do not bound that of the fork.
func (w *world) checkFork(t *testing.T) {
	t.Helper()
	store := session.Dir(w.sessions())
	list, err := store.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%d sessions, want the original and its fork: %v", len(list), err)
	}
	for _, info := range list {
		if info.Session == mainID {
			continue
		}
		names, own, found := map[string]string{}, false, false
		for e, err := range store.Read(t.Context(), info.Session, 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch f := e.Data.(type) {
			case event.UserMessage:
				own = own || f.Message.Text() == promptMore
			case event.AssistantMessage:
				if own && f.Model != agentModel {
					t.Errorf("the fork is answered by %s, want %s", f.Model, agentModel)
				}
				for i, u := range f.Response.Message.ToolUses() {
					names[fmt.Sprintf("c%d.%d", e.Seq, i)] = u.Name
				}
			case event.ToolResult:
				if own && names[f.Call] == "Glob" {
					found = !f.Result.IsError
				}
			}
		}
		if !own || found != w.features.has("options") {
			t.Errorf("the fork was prompted: %v; it could use the tool that its original could not: %v", own, found)
		}
	}
}

// checkProcesses checks that nothing is left that was started in the world.
func (w *world) checkProcesses(t *testing.T) {
	t.Helper()
	procs, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		at, err := os.Readlink(filepath.Join("/proc", p.Name(), "cwd"))
		if err == nil && strings.HasPrefix(at, w.dir) {
			line, _ := os.ReadFile(filepath.Join("/proc", p.Name(), "cmdline"))
			t.Errorf("process %s is left in %s: %q", p.Name(), at, line)
		}
	}
}

// tree is what a session's files hold, but for its lock.
func tree(t *testing.T, dir, id string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(rel, id) || !strings.HasSuffix(rel, ".jsonl") {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s\n%s\n", rel, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
