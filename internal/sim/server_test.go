package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// remote are the tools of the MCP server here, which is in the program.
var remote = []string{"remote", "remotelook", "remotedenied"}

// remoteName is the name of a tool of the server for the model.
func remoteName(name string) string { return "mcp__here__" + name }

// serverConfig returns the configuration of the server: with all its tools, with one, or of none.
func (w *world) serverConfig(l *life, tools int) map[string]mcp.Config {
	if tools == 0 {
		return map[string]mcp.Config{}
	}
	all := []tool.Tool{
		w.newTool(l, class{spec: tool.Spec{Name: "remotelook", ReadOnly: true}}),
		w.newTool(l, class{spec: tool.Spec{Name: "remote"}}),
		w.newTool(l, class{spec: tool.Spec{Name: "remotedenied"}}),
	}
	if tools == 1 {
		all = all[:1]
	}
	return map[string]mcp.Config{"here": {Tools: all}}
}

// servers gives an agent the server.
func servers(w *world, l *life, a *agent.Agent) {
	all := mcp.New(w.serverConfig(l, 2), mcp.Options{})
	l.closers = append(l.closers, all.Close)
	if l.servers == nil { // else it is another process
		l.servers = all
	}
	a.Toolsets = append(a.Toolsets, all)
	a.Permissions.Deny = append(a.Permissions.Deny, permission.Rule(remoteName("remotedenied")))
}

// SetServer changes the server for all sessions: it goes, comes with one tool, or with all.
type SetServer struct{ Tools int }

func (o SetServer) run(w *world) {
	l := w.life
	if l.servers == nil {
		return
	}
	_, err := l.servers.Set(w.serverConfig(l, o.Tools%3))
	w.note("server changed", err)
	w.mu.Lock()
	w.serverTools, w.serverOff, w.serverSince = o.Tools%3, false, time.Since(w.began) // a new configuration is not switched off
	w.mu.Unlock()
}

// SwitchServer switches the server off or on.
type SwitchServer struct{ On bool }

func (o SwitchServer) run(w *world) {
	if w.life.servers == nil || w.serverTools == 0 {
		return
	}
	w.note("server switched", w.life.servers.Toggle(w.life.ctx, "here", o.On))
	w.mu.Lock()
	w.serverOff, w.serverSince = !o.On, time.Since(w.began)
	w.mu.Unlock()
}

func serverCall(g *gen, _ int) Call {
	target := pick(g, "", "", "", "decider-", "hookdeny-", "hookallow-", "hookdefer-", "change-", "change-decider-") // rules about servers have no patterns
	return Call{Tool: remoteName(pick(g, remote...)), Target: target + fmt.Sprint("x", g.IntN(5))}
}

// rulesFor adds the rules about the words of targets to an agent's policy.
func (w *world) rulesFor(a *agent.Agent) {
	for _, name := range w.toolNames(a) {
		name := permission.Rule(name)
		a.Permissions.Deny = append(a.Permissions.Deny, name+"(deny-*)")
		a.Permissions.Ask = append(a.Permissions.Ask, name+"(ask-*)")
		a.Permissions.Allow = append(a.Permissions.Allow, name+"(allow-*)")
	}
}

// toolNames returns the names of the tools of an agent whose targets have words.
func (w *world) toolNames(a *agent.Agent) (names []string) {
	for _, t := range a.Tools {
		if _, ours := t.(*tool.Typed[work]); ours {
			names = append(names, t.Spec().Name)
		}
	}
	return names
}

// checkServer checks that a tool of the server runs only while the server has it.
func (w *world) checkServer(r ran) {
	if !slices.Contains(remote, r.tool.Name) {
		return
	}
	w.meet("server")
	if r.tool.Name == "remotedenied" {
		w.wrong("permission", "%s/%s ran a tool of the server that a rule denies", r.session, r.call)
	}
	w.mu.Lock()
	tools, off, since := w.serverTools, w.serverOff, w.serverSince
	w.mu.Unlock()
	if w.elsewhere.Load() || r.at < since+late {
		return
	}
	if off || tools == 0 || tools == 1 && r.tool.Name != "remotelook" {
		w.wrong("settings", "%s/%s ran %s, which the server no longer has", r.session, r.call, r.tool.Name)
	}
}
