package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
)

// A feature is something that programs are made of. To add one, write a file with its
// operations and checks, and add a row to features.
type feature struct {
	name   string
	meets  []string                                // the words for world.meet when it takes part
	op     func(g *gen) Op                         // makes an operation; nil: none
	then   func(g *gen) []Op                       // makes what often follows the operation; nil: nothing
	call   func(g *gen, depth int) Call            // makes a call of the model; nil: none
	seldom int                                     // it is in so many times fewer programs; 0: 1
	agent  func(w *world, l *life, a *agent.Agent) // builds the agent of a life with it; nil: nothing
}

// features are all features, in the order in which they were added.
var features []feature

func init() { // a table that its own functions use
	features = []feature{
		{name: "always", meets: []string{"anthropic", "openai", "responses", "memory", "folder", "model failure", "person allows", "person denies", "person changes", "question for later", "answered later", "resume", "tool hangs", "tool panics"}},
		{name: "hook", meets: []string{"hook denies", "hook allows", "hook changes", "hook defers", "hook hangs"}},
		{name: "decider", meets: []string{"decider denies"}},
		{name: "steer", meets: []string{"steering"}, op: func(g *gen) Op { return Steer{g.IntN(3), g.one(2)} }},
		{name: "interrupt", meets: []string{"interrupt"}, op: func(g *gen) Op { return Interrupt{g.IntN(3)} }},
		{name: "fork", meets: []string{"fork"}, op: func(g *gen) Op { return Fork{g.IntN(3), g.IntN(12)} },
			then: func(g *gen) []Op {
				return []Op{Resume{newest, !g.one(3)}, g.sleep(), Fork{newest, g.IntN(6)}, Resume{newest, !g.one(3)}}
			}},
		{name: "kill", meets: []string{"crash"}, op: func(g *gen) Op { return Kill{1 + g.IntN(25), pick(g, "before", "after", "torn")} }},
		{name: "disk kill", meets: []string{"fault", "killed at a change of files", "power loss"}, op: func(g *gen) Op { return DiskKill{1 + g.IntN(50), g.one(2)} }},
		{name: "other process", meets: []string{"other process"}, op: func(g *gen) Op { return OtherProcess{g.IntN(3), !g.one(3)} }},
		{name: "rival", meets: []string{"two prompts at once"}, op: func(g *gen) Op {
			g.prompts++
			return Rival{g.IntN(3), fmt.Sprint("p", g.prompts), g.turns(0), g.one(2), g.one(2), g.one(2)}
		}},
		{name: "fork crash", meets: []string{"crash in a fork"}, op: func(g *gen) Op {
			return ForkCrash{g.IntN(3), g.IntN(12), 1 + g.IntN(30), pick(g, "before", "after", "torn")}
		}},
		{name: "disk error", meets: []string{"disk full", "disk fails"}, op: func(g *gen) Op {
			return DiskError{g.IntN(12), g.one(2), g.one(2), time.Duration(1+g.IntN(600)) * time.Millisecond}
		}, then: func(g *gen) []Op {
			return []Op{g.prompt(), g.sleep(), Fork{g.IntN(3), g.IntN(6)}, g.sleep()}
		}},
		{name: "batch", meets: []string{"batch"}, call: func(g *gen, depth int) Call {
			c := Call{Tool: "Batch"}
			for range 1 + g.IntN(4) {
				c.Parts = append(c.Parts, g.plainCall())
			}
			if g.has("files") && g.one(2) { // one: two would race
				c.Parts = append(c.Parts, fileCall(g, depth))
			}
			if g.has("mcp") && g.one(2) {
				c.Parts = append(c.Parts, remoteCall(g, depth))
			}
			return c
		}},
		{name: "sub-agent", meets: []string{"sub-agent"}, call: func(g *gen, depth int) Call { return subagentCall(g, depth, "delegate") },
			agent: func(w *world, l *life, a *agent.Agent) {
				a.Tools = append(a.Tools, w.delegateTool(l, "delegate", false))
			}},
		{name: "background agent", meets: []string{"background agent", "agent stopped"}, call: func(g *gen, depth int) Call { return subagentCall(g, depth, "aside") },
			op:    func(g *gen) Op { return StopAgents{} },
			agent: func(w *world, l *life, a *agent.Agent) { a.Tools = append(a.Tools, w.delegateTool(l, "aside", true)) }},
		{name: "plan mode", meets: []string{"plan mode", "plan left"}, agent: planMode, call: func(g *gen, depth int) Call {
			return Call{Tool: pick(g, "EnterPlanMode", "EnterPlanMode", "ExitPlanMode")}
		}},
		{name: "set mode", meets: []string{"mode changed"}, op: func(g *gen) Op { return SetMode{g.IntN(3), someMode(g)} }},
		{name: "rules", meets: []string{"rules changed"}, op: func(g *gen) Op {
			return ChangeRules{g.IntN(3), pick(g, sorted(added)...), g.one(3)}
		}},
		{name: "settings", meets: []string{"model changed", "thinking changed", "fallbacks changed", "fallback", "tools changed", "tool replaced", "callback changed"}, op: settingsOp, agent: settings},
		{name: "expiry", meets: []string{"approval expires"}},
		{name: "budget", meets: []string{"limit reached"}, agent: budget},
		{name: "set budget", meets: []string{"budget changed"}, op: func(g *gen) Op { return SetBudget{g.IntN(3), g.IntN(12), g.IntN(12)} }},
		{name: "detach", meets: []string{"detach"}, op: func(g *gen) Op { return Detach{g.IntN(3), time.Duration(g.IntN(40)) * time.Millisecond} }},
		{name: "close", meets: []string{"close"}, op: func(g *gen) Op { return Reopen{g.IntN(3)} }},
		{name: "rewind", meets: []string{"rewind"}, op: func(g *gen) Op { return Rewind{g.IntN(3), g.IntN(20)} }},
		{name: "compact", meets: []string{"compaction"}, op: func(g *gen) Op { return Compact{g.IntN(3)} },
			agent: func(_ *world, _ *life, a *agent.Agent) {
				a.Compaction = &agent.Compaction{Keep: 100, Protect: 100, At: 0.01}
			}},
		{name: "again", meets: []string{"prompt again"}, op: func(g *gen) Op { return Again{g.IntN(3), fmt.Sprint("p", 1+g.IntN(4))} }},
		{name: "files", meets: []string{"file tool", "file changed"}, agent: files, call: fileCall, op: filePrompt},
		{name: "checkpoint", meets: []string{"checkpoint", "files rewound", "crash while files are rewound"}, agent: checkpoints, call: changingCall, op: rewindOp},
		{name: "worktree", meets: []string{"worktree kept", "worktree removed"}, seldom: 4, agent: worktrees, call: apartCall, op: apartPrompt},
		{name: "skill", meets: []string{"skill"}, agent: skills, call: skillCall},
		{name: "server", meets: []string{"server", "server changed", "server switched"}, agent: servers, call: serverCall, op: func(g *gen) Op {
			return pick[Op](g, SetServer{g.IntN(3)}, SwitchServer{g.one(2)})
		}},
		{name: "quiz", meets: []string{"question of a tool"}, agent: func(w *world, l *life, a *agent.Agent) { w.quiz(l, a) },
			call: func(g *gen, depth int) Call { return Call{Tool: "quiz", Target: "x"} }},
		{name: "team", meets: []string{"team", "member woken", "mail", "mail to all", "mail bounces", "shutdown", "task claimed", "task taken"}, agent: teamwork, call: teamCall, op: teamPrompt, then: afterTeam},
		{name: "watch", meets: []string{"watch"}, op: func(g *gen) Op { return Watch{g.IntN(3)} }},
		{name: "mcp", meets: []string{"mcp call", "mcp misbehaves", "mcp lost", "mcp changes", "mcp switched", "mcp asks", "mcp samples", "mcp over HTTP"}, agent: remoteOf, call: remoteCall, op: remoteOp, then: afterRemote},
		{name: "notes", meets: []string{"note proposed", "note decided", "note in a prompt"}, agent: notesOf, call: noteCall, op: noteOp, then: afterNotes},
	}
}

// declared reports whether a row of features declares a word for world.meet.
func declared(word string) bool {
	for _, f := range features {
		if slices.Contains(f.meets, word) {
			return true
		}
	}
	return false
}

// gen makes random programs.
type gen struct {
	*rand.Rand
	with    []feature
	prompts int
}

// has reports whether the program has a feature.
func (g *gen) has(name string) bool {
	return slices.ContainsFunc(g.with, func(f feature) bool { return f.name == name })
}

// one reports true once in n times.
func (g *gen) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *gen, from ...T) T { return from[g.IntN(len(from))] }

// generate makes the program of a seed.
func generate(seed uint64) Program {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 1))}
	p := Program{Seed: seed, Wire: pick(g, "anthropic", "openai", "responses"), Disk: pick(g, "memory", "memory", "folder", "fault", "fault"),
		Mode: pick(g, permission.Default, permission.Default, permission.Bypass, permission.Auto, permission.AcceptEdits, permission.DontAsk)}
	rare := pick(g, 2, 3, 8) // few features take turns more often, and so meet each other in more ways
	for _, f := range features {
		if f.name != "always" && g.one(rare*max(1, f.seldom)) {
			g.with = append(g.with, f)
			p.With = append(p.With, f.name)
		}
	}
	p.Ops = append(p.Ops, g.prompt(), g.sleep())
	for range 2 + g.IntN(24) {
		p.Ops = append(append(p.Ops, g.op()...), g.sleep())
	}
	return p
}

func (g *gen) op() []Op {
	switch g.IntN(8) {
	case 0, 1:
		return []Op{g.prompt()}
	case 2:
		return []Op{Await{g.IntN(3)}}
	case 3:
		return []Op{Resume{g.IntN(3), !g.one(3)}}
	}
	for range 10 {
		if len(g.with) > 0 {
			if f := g.with[g.IntN(len(g.with))]; f.op != nil {
				ops := []Op{f.op(g)}
				if f.then != nil && g.one(2) {
					n := g.IntN(5)
					then := f.then(g)
					ops = append(ops, then[:min(n, len(then))]...)
				}
				return ops
			}
		}
	}
	return []Op{g.sleep()}
}

func (g *gen) sleep() Op { return Sleep{time.Duration(1+g.IntN(150)) * time.Millisecond} }

func (g *gen) prompt() Op {
	g.prompts++
	return Prompt{Session: g.IntN(3), Name: fmt.Sprint("p", g.prompts), Turns: g.turns(0)}
}

func (g *gen) turns(depth int) (turns []Turn) {
	for range g.IntN(4 - depth) {
		t := Turn{}
		if g.one(8) {
			t.Fail = pick(g, "overloaded", "cut", "reset", "garbage", "down")
		}
		special := false // calls of tools that are not ours are judged without a delay, so two would race
		for range 1 + g.IntN(3) {
			c, ours := g.call(depth)
			if !ours && special {
				c = g.plainCall()
			}
			special = special || !ours
			t.Calls = append(t.Calls, c)
		}
		turns = append(turns, t)
	}
	return turns
}

// call makes a call, and reports whether its tool is one of classes.
func (g *gen) call(depth int) (c Call, ours bool) {
	if len(g.with) > 0 && g.one(2) {
		if f := g.with[g.IntN(len(g.with))]; f.call != nil {
			return f.call(g, depth), false
		}
	}
	return g.plainCall(), true
}

// plainCall makes a call of one of the tools that every agent has.
func (g *gen) plainCall() Call {
	all := classes()
	c := all[g.IntN(len(all))]
	if g.one(2) {
		c = all[g.IntN(3)] // mostly calls that work
	}
	target := fmt.Sprint("x", g.IntN(5))
	if g.one(2) {
		target = pick(g, words...) + target
	}
	return Call{Tool: c.spec.Name, Target: target}
}
