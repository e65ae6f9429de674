package sim

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// secret is in the result of every tool, and must not be anywhere else.
const secret = "s3cr3t-value-of-the-host"

// work is the input of the tools.
type work struct {
	Target string `json:"target"`
	Tag    string `json:"tag"`
}

// ran is a call as its tool has got it.
type ran struct {
	session, root string
	call          string
	tool          tool.Spec
	delegates     bool
	in            work
	mode          permission.Mode
	at            time.Duration
	life          int
	past          bool // a rewind has taken it back
	replaces      bool // by a tool that ReplaceTool has given
}

// A class is a kind of tool: how its calls may be repeated, and how it behaves.
type class struct {
	spec      tool.Spec
	delegates bool // its changes are made by agents, whose calls are judged
	replaces  bool // it replaces the agent's tool of its name
	behave    func(ctx context.Context, w *world, call tool.Call, in work) (*tool.Result, error)
}

func classes() []class {
	long := strings.Repeat("a long line of output\n", 400)
	hang := func(ctx context.Context, w *world, _ tool.Call, in work) (*tool.Result, error) {
		select {
		case <-ctx.Done():
			return nil, w.cancelled(ctx, in.Tag)
		case <-time.After(w.pause(10*time.Minute, "hang", in.Tag)):
			return tool.Text("hung"), nil
		}
	}
	return []class{
		{spec: tool.Spec{Name: "look", ReadOnly: true}},
		{spec: tool.Spec{Name: "put", Idempotent: true}},
		{spec: tool.Spec{Name: "act"}},
		{spec: tool.Spec{Name: "fence", Barrier: true}},
		{spec: tool.Spec{Name: "deploy", NeedsApproval: tool.AskAlways("it deploys")}},
		{spec: tool.Spec{Name: "hang", Timeout: 5 * time.Minute}, behave: hang},
		{spec: tool.Spec{Name: "hanglook", ReadOnly: true, Timeout: 5 * time.Minute}, behave: hang},
		{spec: tool.Spec{Name: "panic"}, behave: func(context.Context, *world, tool.Call, work) (*tool.Result, error) {
			panic("the tool panics " + secret)
		}},
		{spec: tool.Spec{Name: "large", ReadOnly: true}, behave: func(context.Context, *world, tool.Call, work) (*tool.Result, error) {
			return tool.Text(long + secret), nil
		}},
		{spec: tool.Spec{Name: "fail", Idempotent: true}, behave: func(context.Context, *world, tool.Call, work) (*tool.Result, error) {
			return tool.Errorf("it failed: %s", secret), nil
		}},
	}
}

// newTool makes a tool of a class, for one life.
func (w *world) newTool(l *life, c class) tool.Tool {
	t := tool.New(c.spec, func(ctx context.Context, call tool.Call, in work) (*tool.Result, error) {
		w.steps.Add(1)
		if l.dead.Load() {
			return nil, errDead
		}
		w.toolRuns(l, ran{session: call.Session, root: call.Root, call: call.ID, tool: c.spec, delegates: c.delegates, in: in, mode: call.Mode, at: time.Since(w.began), life: l.n, replaces: c.replaces})
		if c.behave != nil {
			w.meetTool(c.spec.Name)
			time.Sleep(w.pause(time.Millisecond, "tool", call.Root, call.Session, call.ID, l.n))
			return c.behave(ctx, w, call, in)
		}
		select {
		case <-time.After(w.pause(30*time.Millisecond, "tool", call.Root, call.Session, call.ID, l.n)):
		case <-ctx.Done():
			return nil, w.cancelled(ctx, call.Session, call.ID)
		}
		return tool.Text("did " + in.Tag + " with " + secret), nil
	})
	return t.OnClassify(func(call tool.Call, in work) tool.Traits {
		time.Sleep(w.pause(time.Millisecond, "classify", call.Session, call.ID, in.Target)) // no two calls are judged in one instant
		return tool.Traits{RunsSubagents: c.delegates, ReadOnly: c.spec.ReadOnly, Touches: []string{in.Target}, Access: []permission.Access{{Kind: permission.UseName, Target: in.Target}}}
	})
}

// cancelled returns the error of a context after a while: no two things end in one instant.
func (w *world) cancelled(ctx context.Context, words ...any) error {
	time.Sleep(w.pause(time.Millisecond, append(words, "cancelled")...))
	return ctx.Err()
}

// toolRuns notes that a tool runs, and checks that it may.
func (w *world) toolRuns(l *life, r ran) {
	w.trace("run %s %s of %s/%s", r.tool.Name, r.in.Target, r.session, r.call)
	w.mu.Lock()
	earlier := w.ran
	w.ran = append(w.ran, r)
	w.mu.Unlock()
	w.checkPlan(r)
	w.checkRepeat(earlier, r)
	w.checkPermitted(r)
	w.checkTool(r)
	w.checkServer(r)
	w.checkSkill(r)
	w.checkMember(r)
}

// newAgent makes the agent of a life.
func (w *world) newAgent(l *life) *agent.Agent {
	a := &agent.Agent{Model: w.newModel(l), Sessions: mortal{Store: w.disk(), life: l}, Program: "sim", Dir: "/", Secrets: []string{secret},
		Permissions: permission.Policy{Mode: w.Mode},
		CanUseTool:  w.canUseTool(l), AwaitAgents: true, Output: &tool.Output{Lines: -1, Bytes: -1}}
	for _, c := range classes() {
		a.Tools = append(a.Tools, w.newTool(l, c))
	}
	a.Tools = append(a.Tools, tools.Batch())
	if w.has("decider") {
		a.Deciders = []permission.Decider{decider{w}}
	}
	if w.has("hook") {
		a.Hooks = append(a.Hooks, hook.Hook{On: hook.PreToolUse, Func: w.preToolUse(l)})
	}
	for _, f := range features {
		if f.agent != nil && w.has(f.name) {
			f.agent(w, l, a)
		}
	}
	w.rulesFor(a)
	return a
}

// meetTool notes that a tool of its own kind ran.
func (w *world) meetTool(name string) {
	switch name {
	case "hang", "hanglook":
		w.meet("tool hangs")
	case "panic":
		w.meet("tool panics")
	}
}

// newDisk makes the place where sessions are stored.
func (w *world) newDisk() session.Store {
	if w.Disk == "fault" {
		return w.fault.new(w)
	}
	if w.Disk == "folder" {
		w.meet("folder")
		return session.Dir(folder(w.t))
	}
	w.meet("memory")
	return session.Memory()
}

// folder makes a folder in memory where the system has such a place: syncing takes no time there.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "sim")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// disk returns the store as a program finds it when it starts.
func (w *world) disk() session.Store {
	if w.fault.disk != nil {
		return w.fault.open()
	}
	return w.store
}

// decider denies calls that are marked for it.
type decider struct{ w *world }

func (d decider) Decide(r permission.Request) permission.Decision {
	var in work
	if json.Unmarshal(r.Input, &in) == nil && strings.HasPrefix(in.Target, "decider-") {
		d.w.meet("decider denies")
		return permission.Deny("the decider denies it")
	}
	return permission.Decision{}
}

// preToolUse is a hook that denies, allows, changes, defers and hangs, as the target says.
func (w *world) preToolUse(l *life) func(context.Context, *hook.Input) (hook.Output, error) {
	return func(ctx context.Context, in *hook.Input) (out hook.Output, err error) {
		w.steps.Add(1)
		var x work
		if json.Unmarshal(in.Input, &x) != nil {
			return out, nil
		}
		time.Sleep(w.pause(time.Millisecond, "hook", in.Session, in.Call))
		word, rest, _ := strings.Cut(x.Target, "-")
		switch word {
		case "hookdeny":
			w.meet("hook denies")
			out.Permission, out.Reason = permission.Denied, "the hook denies it"
		case "hookallow":
			w.meet("hook allows")
			out.Permission = permission.Allowed
		case "hookdefer":
			w.meet("hook defers")
			out.Permission = permission.Deferred
		case "change":
			w.meet("hook changes")
			x.Target = rest
			out.Input, err = json.Marshal(x)
		case "hookhang":
			w.meet("hook hangs")
			<-ctx.Done()
			err = w.cancelled(ctx, in.Session, in.Call)
		}
		return out, err
	}
}
