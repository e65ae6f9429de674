package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tools"
)

// teammates are the names of agents in teams, with their kinds. A looker has only some tools,
// and a rule denies spies.
var teammates = map[string]string{"ann": "mate", "bob": "mate", "cid": "looker", "eve": "spy"}

// lookerTools are the tools of a looker.
var lookerTools = []string{"look", "hanglook", "large", "SendMessage", "TaskUpdate", "TaskList"}

// teamwork gives an agent teams, tasks and mail.
func teamwork(w *world, l *life, a *agent.Agent) {
	store := (*team.Store)(teamstore.NewStore(w.openTeam(l)))
	m := &subagent.Manager{Team: store, Tasks: store, NoBuiltin: true, Agents: []*agent.Agent{{Name: "mate"}, {Name: "looker", AllowedTools: lookerTools}, {Name: "spy"}}}
	a.Inbox = m.Inbox("")
	a.Tools = append(a.Tools, tools.Agent(m), tools.TeamCreate(store), tools.TeamDelete(store), tools.SendMessage(store),
		tools.TaskCreate(store), tools.TaskUpdate(store), tools.TaskList(store), tools.TaskStop(store, m), tools.TaskOutput(store, m))
	a.Permissions.Deny = append(a.Permissions.Deny, permission.Rule("Agent(spy)"))
}

// teamInput returns the input of a call of a tool for teams. The target is what it is about,
// a colon, and what becomes of it.
func (w *world) teamInput(c Call, tag string) (in map[string]any, ok bool) {
	about, more, _ := strings.Cut(c.Target, ":")
	switch c.Tool {
	case "TeamCreate":
		return map[string]any{"name": about, "members": []string{"ann", "bob", "cid"}}, true
	case "TeamDelete", "TaskStop", "TaskOutput":
		return map[string]any{"id": about}, true
	case "Agent":
		in = map[string]any{"prompt": prompts + tag, "description": "work", "subagent_type": teammates[about], "name": about}
		if more == "again" {
			w.mu.Lock()
			defer w.mu.Unlock()
			in["resume"] = w.team.latest[about]
		}
		return in, true
	case "SendMessage":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.team.written++
		return map[string]any{"to": about, "type": more, "message": fmt.Sprintf("%s%s\nmessage %d", prompts, tag, w.team.written)}, true
	case "TaskCreate":
		in = map[string]any{"subject": tag}
		if more != "" {
			in["blockedBy"] = []string{more}
		}
		return in, true
	case "TaskUpdate":
		if after, blocks := strings.CutPrefix(more, "after "); blocks {
			return map[string]any{"id": about, "blockedBy": []string{after}}, true
		}
		return map[string]any{"id": about, "status": more}, true
	case "TaskList":
		return map[string]any{}, true
	}
	return nil, false
}

// teamCall makes a call of a tool for teams. The turns of a message are those of its reader.
func teamCall(g *gen, depth int) Call {
	c := Call{Tool: pick(g, "TeamCreate", "TeamDelete", "Agent", "Agent", "SendMessage", "SendMessage", "SendMessage", "TaskCreate", "TaskUpdate", "TaskUpdate", "TaskUpdate", "TaskList", "TaskStop", "TaskOutput")}
	someone := func() string { return pick(g, "main", "ann", "ann", "bob", "bob", "cid", "*", "nobody") }
	task := func() string { return fmt.Sprint(1 + g.IntN(3)) }
	switch c.Tool {
	case "TeamCreate", "TeamDelete":
		c.Target = pick(g, "red", "red", "red", "blue")
	case "Agent":
		c.Target = pick(g, "ann", "ann", "bob", "bob", "cid", "eve") + pick(g, "", "", ":again")
		c.Turns = memberTurns(g, depth+1)
	case "SendMessage":
		c.Target = someone() + pick(g, "", "", "", ":shutdown_request", ":shutdown_response", ":plan_approval_response")
		c.Turns = memberTurns(g, depth+1)
	case "TaskCreate":
		c.Target = pick(g, "", ":1", ":2")
	case "TaskUpdate":
		c.Target = task() + pick(g, ":in_progress", ":in_progress", ":completed", ":failed", ":pending", ":after 1", ":after 2")
	case "TaskStop":
		c.Target = pick(g, task(), "ann", "bob")
	case "TaskOutput": // who looks at themselves may see their call, or not yet
		c.Target = pick(g, task(), "cid")
	}
	return c
}

// memberTurns are the answers of a member of a team.
func memberTurns(g *gen, depth int) (turns []Turn) {
	if depth > 2 {
		return nil
	}
	for range g.IntN(3) {
		t := Turn{Calls: []Call{teamCall(g, depth)}}
		if g.one(2) {
			t.Calls = append(t.Calls, g.plainCall())
		}
		turns = append(turns, t)
	}
	return turns
}

// teamPrompt is a prompt that lets a team work.
func teamPrompt(g *gen) Op {
	g.prompts++
	member := func(name string) Turn {
		c := Call{Tool: "Agent", Target: name}
		if !g.one(3) { // two claim one task
			c.Turns = []Turn{{Calls: []Call{{Tool: "TaskUpdate", Target: "1:in_progress"}}}}
		}
		c.Turns = append(append(c.Turns, memberTurns(g, 1)...), memberTurns(g, 1)...)
		return Turn{Calls: []Call{c}}
	}
	p := Prompt{Session: g.IntN(3), Name: fmt.Sprint("p", g.prompts), Turns: []Turn{{Calls: []Call{{Tool: "TeamCreate", Target: "red"}}}}}
	for range 1 + g.IntN(2) {
		p.Turns = append(p.Turns, Turn{Calls: []Call{{Tool: "TaskCreate", Target: pick(g, "", "", ":1")}}})
	}
	p.Turns = append(p.Turns, member("ann"), member(pick(g, "bob", "bob", "cid")))
	for range 1 + g.IntN(2) {
		p.Turns = append(p.Turns, Turn{Calls: []Call{teamCall(g, 0)}})
	}
	c := Call{Tool: "SendMessage", Target: "*", Turns: memberTurns(g, 1)}
	if g.one(2) {
		c.Target, c.Turns = "ann:shutdown_request", []Turn{{Calls: []Call{{Tool: "SendMessage", Target: "main:shutdown_response"}}}}
	}
	p.Turns = append(p.Turns, Turn{Calls: []Call{c}})
	return p
}

// afterTeam is what often follows a prompt for a team.
func afterTeam(g *gen) []Op { return []Op{g.sleep(), StopAgents{}, g.sleep(), teamPrompt(g)} }

// mailText finds the last words of messages in a text, which no other message has.
var mailText = regexp.MustCompile(`\nmessage (\d+)\n</message>`)

// mailIn returns the messages that a fact holds, by their last words.
func mailIn(e event.Event) (all []string) {
	if m, ok := e.Data.(event.UserMessage); ok {
		for _, found := range mailText.FindAllStringSubmatch(m.Message.Text(), -1) {
			all = append(all, found[1])
		}
	}
	return all
}

// foldMail takes in mail, which a conversation has once.
func (j *journal) foldMail(e event.Event, wrong func(invariant, format string, args ...any)) {
	for _, m := range mailIn(e) {
		if slices.Contains(j.mail, m) {
			wrong("mail", "fact %d holds message %s, which is there already", e.Seq, m)
		}
		j.mail = append(j.mail, m)
	}
}

// stoppedAgent is in the answer to who stops an agent.
var stoppedAgent = regexp.MustCompile(`^Agent \S+ \(\S+, (\S+)\) was stopped`)

// seesTeam notes what a new fact says of agents.
func (w *world) seesTeam(p string, e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch d := e.Data.(type) {
	case event.AgentStart:
		if d.Agent == "eve" {
			w.violated = append(w.violated, Violation{"permission", p + " starts an agent of a kind that a rule denies"})
		}
		if teammates[d.Agent] == "" {
			return
		}
		if w.team.names[d.Session] != "" {
			w.met["member woken"] = true
		}
		w.team.names[d.Session], w.team.latest[d.Agent] = d.Agent, d.Session
		delete(w.team.stopped, d.Session)
	case event.ToolResult:
		if found := stoppedAgent.FindStringSubmatch(d.Result.Content.Text()); found != nil && d.Cause == "" {
			w.team.stopped[found[1]] = true
		}
	}
}

// checkMember checks that a member of a team runs only tools of its kind, and none after it was
// stopped.
func (w *world) checkMember(r ran) {
	w.mu.Lock()
	name, stopped := w.team.names[r.session], w.team.stopped[r.session]
	w.mu.Unlock()
	if teammates[name] == "looker" && !slices.Contains(lookerTools, r.tool.Name) {
		w.wrong("permission", "%s, who has only %q, runs %s", name, lookerTools, r.tool.Name)
	}
	if stopped {
		w.wrong("team", "%s runs %s of %s/%s after it was stopped", name, r.tool.Name, r.session, r.call)
	}
}

// checkTeamBudget checks that all requests of a session and of its agents, in all their work, stay
// within the budgets of its prompts. There is one session.
func (w *world) checkTeamBudget() {
	prompts := 0
	w.ledger.mu.Lock()
	for p, j := range w.facts.of {
		for _, e := range j.all {
			if _, ok := e.Data.(fact.Configured); ok && !strings.Contains(p, "/") {
				prompts++
			}
		}
	}
	w.ledger.mu.Unlock()
	w.mu.Lock()
	w.team.asked++
	n := w.team.asked
	w.mu.Unlock()
	if most := w.limits().ModelCalls * prompts; most > 0 && n > most {
		w.wrong("budget", "a team makes request %d, the budgets of %d prompts have %d", n, prompts, most)
	}
}
