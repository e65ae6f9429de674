package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// aparts is what the world knows about agents in worktrees. Its fields are guarded by
// world.mu.
type aparts struct {
	began []string           // tags of calls of the tool Agent
	calls map[string]*change // calls of agents that change files, by path of the session and call
	work  map[string]string  // the text that a file must have, by its path; "": it is not known
	homes map[string]home    // of agents, by path of the session
	modes map[string]string  // in which calls started and agents began, by path of the session and call, and of the agent
}

// A change is a call that changes a file in a worktree.
type change struct{ dir, path, text string }

// A home is the worktree of an agent.
type home struct {
	dir  string
	done bool // the agent has completed its work
}

const worktreesFolder = ".openagent/worktrees"

// repository holds the files of a folder .git for the files of all runs. Git makes it once.
var repository struct {
	once  sync.Once
	files map[string][]byte
	err   error
}

// makeRepository makes the folder of the files a git repository.
func (w *world) makeRepository() {
	if w.apart.calls != nil {
		return
	}
	w.apart = aparts{calls: map[string]*change{}, work: map[string]string{}, homes: map[string]home{}, modes: map[string]string{}}
	w.t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	w.t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := &repository
	r.once.Do(func() { r.files, r.err = commitFiles(w.filesRoot) })
	if r.err != nil {
		w.t.Fatal(r.err)
	}
	for _, name := range append(sorted(r.files), "refs/heads/", "refs/tags/", "objects/pack/") {
		path := filepath.Join(w.filesRoot, ".git", name)
		w.try(os.MkdirAll(filepath.Dir(path), 0o700), "copying the repository")
		if !strings.HasSuffix(name, "/") {
			w.try(os.WriteFile(path, r.files[name], 0o600), "copying the repository")
		}
	}
}

// commitFiles returns the files of a repository with one commit, which has those of a folder.
func commitFiles(folder string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "sim-git")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, args := range []string{"init -q -b main --template=", "add open hidden locked", "commit -q -m first"} {
		c := exec.Command("git", append([]string{"-C", folder, "--git-dir", dir, "--work-tree", folder}, strings.Fields(args)...)...)
		c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2000-01-01T00:00:00Z",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2000-01-01T00:00:00Z")
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %s: %w: %s", args, err, out)
		}
	}
	files := map[string][]byte{}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	return files, err
}

// worktrees gives an agent others that work in git worktrees of their own, unless it leads a
// team: it has one tool Agent.
func worktrees(w *world, l *life, a *agent.Agent) {
	if w.has("team") {
		return
	}
	if !w.has("files") && !w.has("checkpoint") {
		files(w, l, a)
	}
	w.makeRepository()
	ws := &workspace.Workspace{Root: w.filesRoot}
	l.closers = append(l.closers, ws.Close)
	kinds := []subagent.Definition{{Agent: &agent.Agent{Name: "plain"}, Description: "works"},
		{Agent: &agent.Agent{Name: "apart"}, Description: "works in a worktree", Isolation: "worktree"}}
	a.Tools = append(a.Tools, tools.Agent(&subagent.Manager{Definitions: kinds, NoBuiltin: true, Worktrees: ws}))
}

// agentInput returns the input of the tool Agent. The target says the kind, and whether the
// agent works in the background.
func (w *world) agentInput(c Call, tag string) any {
	w.mu.Lock()
	w.apart.began = append(w.apart.began, tag)
	w.mu.Unlock()
	in := map[string]any{"prompt": prompts + tag, "description": "work apart", "subagent_type": "plain"}
	if strings.HasPrefix(c.Target, "apart") {
		in["subagent_type"] = "apart"
	} else {
		in["isolation"] = "worktree"
	}
	if strings.HasSuffix(c.Target, "aside") {
		in["run_in_background"] = true
	}
	return in
}

// apartPaths are files that agents in worktrees name. Those below locked are denied to them.
var apartPaths = []string{"open/a.txt", "open/a.txt", "open/b.txt", "open/new.txt", "open/sub/new.txt", "open/new.txt", "locked/c.txt", "locked/new.txt", "hidden/k.txt", "./open/../locked/new.txt"}

func apartCall(g *gen, depth int) Call {
	if depth > 0 || g.has("team") {
		return g.plainCall()
	}
	c := Call{Tool: "Agent", Target: pick(g, "apart", "asked", "apart aside", "asked aside")}
	for range g.IntN(4) {
		path := pick(g, apartPaths...)
		if g.one(2) {
			c.Turns = append(c.Turns, Turn{Calls: []Call{{Tool: "Read", Target: path}}})
		}
		c.Turns = append(c.Turns, Turn{Calls: []Call{{Tool: pick(g, "Write", "Write", "Edit"), Target: path}}})
	}
	if g.one(2) {
		c.Turns = append(c.Turns, Turn{Calls: []Call{g.plainCall()}})
	}
	return c
}

// apartPrompt is a prompt that has work done in worktrees.
func apartPrompt(g *gen) Op {
	if g.has("team") {
		return g.prompt()
	}
	g.prompts++
	p := Prompt{Session: g.IntN(3), Name: fmt.Sprint("p", g.prompts)}
	for range 1 + g.IntN(2) {
		p.Turns = append(p.Turns, Turn{Calls: []Call{apartCall(g, 0)}})
	}
	return p
}

// seesApart notes what facts say of agents in worktrees.
func (w *world) seesApart(p string, es []event.Event, copied bool) {
	if w.apart.calls == nil || copied {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range es {
		switch d := e.Data.(type) {
		case fact.Configured:
			if strings.Contains(d.Dir, worktreesFolder) {
				w.apart.homes[p] = home{dir: d.Dir}
				if w.apart.modes[p] == string(permission.Plan) {
					w.violated = append(w.violated, Violation{"permission", fmt.Sprintf("%s was made in plan mode", d.Dir)})
				}
			}
		case event.AgentStart:
			w.apart.modes[p+"/"+d.Session] = w.apart.modes[p+"/"+d.Call]
		case event.AgentEnd:
			if h, ok := w.apart.homes[p+"/"+d.Session]; ok {
				h.done = d.Reason == event.Completed
				w.apart.homes[p+"/"+d.Session] = h
			}
		case event.AssistantMessage:
			for i, u := range d.Response.Message.ToolUses() {
				var in struct {
					Path    string `json:"file_path"`
					Content string `json:"content"`
					New     string `json:"new_string"`
				}
				if json.Unmarshal(u.Input, &in) == nil && (u.Name == "Write" || u.Name == "Edit") {
					w.apart.calls[fmt.Sprintf("%s/c%d.%d", p, e.Seq, i)] = &change{"", in.Path, in.Content + in.New}
				}
			}
		case event.ToolStart:
			w.apart.modes[p+"/"+d.Call] = string(d.Mode)
			if c := w.apart.calls[p+"/"+d.Call]; c != nil && strings.Contains(d.Dir, worktreesFolder) {
				c.dir = d.Dir
				w.apart.work[filepath.Join(d.Dir, c.path)] = ""
			}
		case event.ToolResult:
			if c := w.apart.calls[p+"/"+d.Call]; c != nil && c.dir != "" && d.Cause == "" && !d.Result.IsError {
				w.apart.work[filepath.Join(c.dir, c.path)] = c.text
			}
		}
	}
}

// checkApart checks that agents in worktrees have not changed the folder of others, and that
// their own work is there.
func (w *world) checkApart() {
	if w.apart.calls == nil {
		return
	}
	for path, text := range w.tree() {
		for _, tag := range w.apart.began {
			if strings.Contains(text, "line of "+tag+".") {
				w.wrong("worktrees", "an agent in a worktree has changed %s of its parent: %q", path, text)
			}
		}
	}
	for _, path := range sorted(w.apart.work) {
		data, err := os.ReadFile(path)
		if text := w.apart.work[path]; text != "" && !strings.Contains(string(data), strings.TrimSpace(text)) {
			w.wrong("worktrees", "the work of an agent is lost: %s is %q (%v), without %q", path, data, err, text)
		}
	}
	var all []string
	for _, dir := range w.entries(worktreesFolder) {
		switch {
		case dir == ".gitignore":
		case strings.HasSuffix(dir, "~kept"):
			w.meet("worktree kept")
		default:
			all = append(all, dir)
			w.checkLocked(filepath.Join(w.filesRoot, worktreesFolder, dir))
		}
	}
	if known := w.entries(".git/worktrees"); !slices.Equal(all, known) {
		w.wrong("worktrees", "the worktrees are %q, and git knows %q", all, known)
	}
	branches := slices.DeleteFunc(w.entries(".git/refs/heads"), func(name string) bool { return name == "main" })
	for i := range branches {
		branches[i] = strings.TrimPrefix(branches[i], "worktree-")
	}
	if !slices.Equal(all, branches) {
		w.wrong("worktrees", "the worktrees are %q, and their branches %q", all, branches)
	}
	_ = filepath.WalkDir(filepath.Join(w.filesRoot, ".git"), func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".lock") {
			w.wrong("worktrees", "git's lock %s is left", path)
		}
		return nil
	})
	w.checkUnchanged()
}

// checkUnchanged checks that the worktrees of agents that have changed nothing are gone.
func (w *world) checkUnchanged() {
	for _, p := range sorted(w.apart.homes) {
		h := w.apart.homes[p]
		if !h.done {
			continue
		}
		changed := false
		for path := range w.apart.work {
			changed = changed || strings.HasPrefix(path, h.dir+"/")
		}
		_, err := os.Stat(h.dir)
		switch gone := errors.Is(err, fs.ErrNotExist); {
		case gone:
			w.meet("worktree removed")
		case !changed && !w.met["crash"]:
			w.wrong("worktrees", "the worktree %s of %s has no changes and is left", h.dir, p)
		}
	}
}

// checkLocked checks the files of a worktree that nobody may change.
func (w *world) checkLocked(dir string) {
	const file = "locked/c.txt"
	if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(data) != fileContents["w/"+file] {
		w.wrong("permission", "%s in the worktree %s was changed: %q, %v", file, dir, data, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "locked/new.txt")); err == nil {
		w.wrong("permission", "locked/new.txt was made in the worktree %s", dir)
	}
}

// entries returns the names in a folder below that of the files.
func (w *world) entries(folder string) (names []string) {
	list, _ := os.ReadDir(filepath.Join(w.filesRoot, folder)) // there may be none
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
