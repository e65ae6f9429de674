package subagent_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A stage is an agent with a manager, and models that play both sides: the answer to a
// request follows from its first message.
type stage struct {
	t       *testing.T
	dir     string
	ws      *workspace.Workspace
	manager *subagent.Manager
	agent   *agent.Agent
	team    *teamstore.Memory

	mu    sync.Mutex
	parts map[string]func(r *llmtest.Request) llmtest.Step
}

// spawnerOf returns what the tools have of a manager.
func spawnerOf(m *subagent.Manager) toolapi.Agents {
	return toolapi.Handle[toolapi.Spawner](m.Subagents()).Value().(toolapi.Agents)
}

func newStage(t *testing.T, kinds ...*agent.Agent) *stage {
	s := &stage{t: t, dir: t.TempDir(), team: new(teamstore.Memory), parts: map[string]func(*llmtest.Request) llmtest.Step{}}
	s.ws = &workspace.Workspace{Root: s.dir}
	t.Cleanup(func() { s.ws.Close() })
	store := (*team.Store)(teamstore.NewStore(s.team))
	s.manager = &subagent.Manager{Team: store, Worktrees: s.ws, Agents: kinds}
	kit := tools.Builtins{Workspace: s.ws, Team: store, Agents: s.manager}
	s.agent = &agent.Agent{Dir: s.dir, Permissions: permission.Policy{Mode: permission.Bypass}, Sessions: session.Memory(), Inbox: s.manager.Inbox("")}
	for _, e := range kit.Tools() {
		s.agent.Tools = append(s.agent.Tools, e.Tool)
	}
	s.agent.Model = &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		s.mu.Lock()
		part := s.parts[r.Messages[0].Text()]
		s.mu.Unlock()
		if part == nil {
			return llmtest.Fail(fmt.Errorf("nobody plays %q", r.Messages[0].Text()))
		}
		return part(r)
	}}
	return s
}

// plays lets a run that begins with prompt answer with the steps, one after the other.
func (s *stage) plays(prompt string, steps ...any) {
	var n atomic.Int32
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[prompt] = func(r *llmtest.Request) llmtest.Step {
		i := int(n.Add(1)) - 1
		if i >= len(steps) {
			return llmtest.Fail(fmt.Errorf("%q: no step %d", prompt, i))
		}
		switch step := steps[i].(type) {
		case string:
			return llmtest.Step{Text: step}
		case llm.ToolUse:
			return llmtest.Call(step)
		case []llm.ToolUse:
			return llmtest.Step{Calls: step}
		case func(*llmtest.Request) llmtest.Step:
			return step(r)
		}
		panic("no step")
	}
}

func use(name string, in map[string]any) llm.ToolUse { return llmtest.Use("", name, in) }

func spawn(prompt string, more map[string]any) llm.ToolUse {
	in := map[string]any{"prompt": prompt, "description": "d"}
	for k, v := range more {
		in[k] = v
	}
	return use("Agent", in)
}

// told returns the texts of the results and messages that a request has beyond the
// first message, joined.
func told(r *llmtest.Request) string {
	var b strings.Builder
	for _, m := range r.Messages[1:] {
		for _, c := range m.Content {
			switch c := c.(type) {
			case llm.ToolResult:
				b.WriteString(c.Content.Text() + "\n")
			case llm.Text:
				if m.Role == llm.User {
					b.WriteString(c.Text + "\n")
				}
			}
		}
	}
	return b.String()
}

func (s *stage) prompt(text string) *agent.Result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	res, err := s.agent.Prompt(ctx, text)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// Several kinds at once: each has its own tools and text, and their answers come back
// in the order of the calls.
func TestAgents(t *testing.T) {
	s := newStage(t)
	os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("needle"), 0o600)
	var explorer *llmtest.Request
	both := make(chan struct{}, 2)
	meet := func(next llmtest.Step) func(*llmtest.Request) llmtest.Step {
		return func(r *llmtest.Request) llmtest.Step {
			if both <- struct{}{}; r.Messages[0].Text() == "look" {
				explorer = r
			}
			for len(both) < 2 {
				time.Sleep(time.Millisecond)
			}
			return next
		}
	}
	s.plays("look", meet(llmtest.Call(use("Grep", map[string]any{"pattern": "needle"}))), "it is in a.txt")
	s.plays("write", meet(llmtest.Call(use("Write", map[string]any{"file_path": "b.txt", "content": "x"}))), "written")
	s.plays("go", []llm.ToolUse{spawn("look", map[string]any{"subagent_type": "Explore"}), spawn("write", nil)}, func(r *llmtest.Request) llmtest.Step {
		return llmtest.Step{Text: told(r)}
	})
	res := s.prompt("go")
	one, two := strings.Index(res.Text, "it is in a.txt"), strings.Index(res.Text, "written")
	if one < 0 || two < one || !strings.Contains(res.Text, "subagent_type: Explore; tools used: Grep 1)") {
		t.Errorf("told %q", res.Text)
	}
	var names []string
	for _, x := range explorer.Tools {
		names = append(names, x.Name)
	}
	if slices.Sort(names); strings.Join(names, " ") != "Bash Glob Grep Read" {
		t.Errorf("Explore has %v", names)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "b.txt")); err != nil {
		t.Error(err)
	}
}

// Explore changes nothing, whatever its model wants; agents of agents are not started.
func TestAgentsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		step llm.ToolUse
		kind string
		want string
	}{
		"a command that writes": {use("Bash", map[string]any{"command": "touch c.txt"}), "Explore", "denied"},
		"a tool it has not":     {use("Write", map[string]any{"file_path": "c.txt", "content": "x"}), "Explore", `there is no tool "Write"`},
		"a grandchild":          {spawn("deeper", nil), "general-purpose", `there is no tool "Agent"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var got string
			s.plays("try", c.step, func(r *llmtest.Request) llmtest.Step { got = told(r); return llmtest.Step{Text: "x"} })
			s.plays("go", spawn("try", map[string]any{"subagent_type": c.kind}), "end")
			s.prompt("go")
			if !strings.Contains(strings.ToLower(got), strings.ToLower(c.want)) {
				t.Errorf("told %q", got)
			}
			if _, err := os.Stat(filepath.Join(s.dir, "c.txt")); err == nil {
				t.Error("it was written")
			}
		})
	}
}

// An agent in the background is shown, stopped and sent back to work by its id.
func TestAgentInBackground(t *testing.T) {
	s := newStage(t)
	var id string
	idOf := func(r *llmtest.Request) string {
		_, rest, _ := strings.Cut(told(r), "Agent ")
		id, _, _ := strings.Cut(rest, " ")
		return id
	}
	s.plays("wait", use("Bash", map[string]any{"command": "sleep 60"}))
	s.plays("go", spawn("wait", map[string]any{"run_in_background": true}),
		func(r *llmtest.Request) llmtest.Step {
			id = idOf(r)
			return llmtest.Call(use("TaskOutput", map[string]any{"id": id}))
		},
		func(r *llmtest.Request) llmtest.Step {
			if !strings.Contains(told(r), "is at work") {
				t.Errorf("told %q", told(r))
			}
			return llmtest.Call(use("TaskStop", map[string]any{"id": id}))
		},
		func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} },
		func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
	res := s.prompt("go")
	if !strings.Contains(res.Text, "is done: interrupted") || strings.Count(res.Text, "[agent] general-purpose") != 1 {
		t.Errorf("told %q", res.Text)
	}
}

// An agent that has ended continues with its conversation, as the same kind.
func TestAgentResumed(t *testing.T) {
	s := newStage(t)
	var again string
	n := 0
	s.plays("learn", "the word is xyzzy", func(r *llmtest.Request) llmtest.Step {
		again = fmt.Sprint(len(r.Messages), " ", r.Messages[len(r.Messages)-1].Text())
		return llmtest.Step{Text: "still xyzzy"}
	})
	next := func(kind string) func(*llmtest.Request) llmtest.Step {
		return func(r *llmtest.Request) llmtest.Step {
			n++
			_, rest, _ := strings.Cut(told(r), "agent id: ")
			id, _, _ := strings.Cut(rest, ",")
			return llmtest.Call(spawn("and now?", map[string]any{"resume": id, "subagent_type": kind}))
		}
	}
	s.plays("go", spawn("learn", map[string]any{"subagent_type": "Explore"}), next("Plan"), next("Explore"), func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
	res := s.prompt("go")
	if again != "3 and now?" || !strings.Contains(res.Text, "still xyzzy") || !strings.Contains(res.Text, "it is another kind of agent") {
		t.Errorf("again %q, told %q", again, res.Text)
	}
}

// An agent with isolation works in a worktree. Its changes stay there and are reported;
// without changes the worktree goes.
func TestAgentApart(t *testing.T) {
	s := newStage(t)
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", s.dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skip("git: ", string(out), err)
		}
		return string(out)
	}
	os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("one\n"), 0o600)
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	apart := map[string]any{"isolation": "worktree"}
	s.plays("change", use("Bash", map[string]any{"command": "echo two >> a.txt; echo new > b.txt; pwd"}), "changed")
	s.plays("look", use("Read", map[string]any{"file_path": "a.txt"}), "looked")
	s.plays("go", spawn("change", apart), spawn("look", apart), func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: told(r)} })
	res := s.prompt("go")
	for _, want := range []string{"Its changes are in the worktree " + s.dir, "a.txt | 1 +", "b.txt (new)", "It has changed no files; its worktree is removed."} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("no %q in %s", want, res.Text)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(s.dir, "a.txt")); string(data) != "one\n" {
		t.Errorf("the file outside of it is %q", data)
	}
	if n := strings.Count(git("worktree", "list"), "\n"); n != 2 {
		t.Errorf("%d worktrees", n)
	}
}

// Members of a team work side by side, get each other's messages, wait for more, and
// end when they are asked to.
func TestTeam(t *testing.T) {
	s := newStage(t)
	say := func(to, text, kind string) llm.ToolUse {
		return use("SendMessage", map[string]any{"to": to, "message": text, "type": kind})
	}
	member := func(name string) map[string]any { return map[string]any{"name": name, "team_name": "red"} }
	s.plays("ann's work", say("bob", "the plan is ready", "text"), func(r *llmtest.Request) llmtest.Step {
		if !strings.Contains(told(r), "Message sent to bob") {
			t.Errorf("ann was told %q", told(r))
		}
		return llmtest.Step{Text: "ann is done"}
	}, func(r *llmtest.Request) llmtest.Step {
		if !strings.Contains(told(r), "shutdown_request") {
			t.Errorf("ann was told %q", told(r))
		}
		return llmtest.Call(say("main", "bye", "shutdown_response"))
	}, "ann has ended")
	bob := func(r *llmtest.Request) llmtest.Step { // the message may come before its first answer
		if strings.Contains(told(r), "the plan is ready") {
			return llmtest.Step{Text: "bob builds by the plan"}
		}
		return llmtest.Step{Text: "bob has begun"}
	}
	s.plays("bob's work", bob, bob)
	var last string
	lead := func(r *llmtest.Request) llmtest.Step {
		last = told(r)
		switch {
		case strings.Contains(last, "bob builds by the plan") && strings.Contains(last, "ann is done") && !strings.Contains(last, "Message sent to ann"):
			return llmtest.Call(say("ann", "please end", "shutdown_request"))
		case strings.Contains(last, "ann has ended") && !strings.Contains(last, "Team disbanded"):
			return llmtest.Call(use("TeamDelete", map[string]any{"id": "red"}))
		}
		return llmtest.Step{Text: "waiting"}
	}
	steps := []any{use("TeamCreate", map[string]any{"name": "red", "members": []string{"bob"}}),
		[]llm.ToolUse{spawn("bob's work", map[string]any{"name": "bob"}), spawn("ann's work", member("ann"))}}
	for range 12 {
		steps = append(steps, lead)
	}
	s.plays("go", steps...)
	s.prompt("go")
	for _, want := range []string{"bob builds by the plan", "ann is done", "ann has ended", "Team disbanded"} {
		if strings.Count(last, want) != 1 {
			t.Errorf("%q came %d times in:\n%s", want, strings.Count(last, want), last)
		}
	}
}

// Unfinished tasks of an agent that ends are free again.
func TestTasksFreed(t *testing.T) {
	s := newStage(t)
	s.manager.Tasks = s.manager.Team
	s.plays("work", use("TaskUpdate", map[string]any{"id": "1", "status": "in_progress"}), "I give up")
	s.plays("go", use("TaskCreate", map[string]any{"subject": "x"}), spawn("work", map[string]any{"name": "ann"}), use("TaskGet", map[string]any{"id": "1"}),
		func(r *llmtest.Request) llmtest.Step { return llmtest.Step{Text: r.Results()[0].Text} })
	if res := s.prompt("go"); !strings.Contains(res.Text, "pending") {
		t.Errorf("told %q", res.Text)
	}
}

// A manager's data about a session ends with it.
func TestManagerForgets(t *testing.T) {
	s := newStage(t)
	s.plays("look", "found")
	s.plays("go", spawn("look", nil), "end")
	s.prompt("go")
	if n := subagent.Trees(s.manager); n != 0 {
		t.Errorf("%d trees are kept", n)
	}
}

// Names, depth and number are bounded.
func TestManagerBounds(t *testing.T) {
	s := newStage(t)
	s.manager.MaxAgents = 1
	hold := make(chan struct{})
	s.plays("hold", func(*llmtest.Request) llmtest.Step { <-hold; return llmtest.Step{Text: "held"} })
	s.plays("go", spawn("hold", map[string]any{"run_in_background": true}), spawn("hold", nil), func(r *llmtest.Request) llmtest.Step {
		close(hold)
		if !strings.Contains(told(r), "1 agents are at work") {
			t.Errorf("told %q", told(r))
		}
		return llmtest.Step{Text: "x"}
	}, "end")
	s.prompt("go")
	if _, err := spawnerOf(s.manager).Spawn(t.Context(), toolapi.Spawn{Call: tool.Call{ID: "c"}, Type: "Explore"}); err == nil || !strings.Contains(err.Error(), "only a run can start agents") {
		t.Errorf("outside of a run: %v", err)
	}
}
