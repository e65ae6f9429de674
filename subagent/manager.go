package subagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A Manager puts agents to work for others: it is what [tools.Builtins] needs for the tool
// Agent, as Agents, and for TaskOutput and TaskStop, among Background. One Manager serves
// any number of sessions. Its zero value knows the built-in kinds.
//
// An agent may do what the one that it works for may do, and no more, see
// [agent.Parent]. Fields must not change while it is in use.
type Manager struct {
	// Agents are kinds of agents, by name, with Definitions and [Builtin] after them: of
	// two of one name the first counts.
	Agents      []*agent.Agent
	Definitions []Definition
	// NoBuiltin leaves [Builtin] out: the only kinds are yours.
	NoBuiltin bool
	MaxDepth  int // agents of agents of …; 0: 1, children start none
	MaxAgents int // at work at a time for one session at the root; 0: 100
	Turns     int // of an agent, unless it or its definition says; 0: 10
	// Worktrees makes git worktrees for agents that are to be apart, such as a
	// [workspace.Workspace]. Nil: there are none.
	Worktrees *workspace.Workspace
	// Team is what members of a team share. Nil: agents join no teams.
	Team *team.Store
	// Tasks is the list that agents work on: what an agent that ends has not finished is
	// free again. Nil: nothing is freed.
	Tasks *team.Store
	// Skill returns the text of a skill, for kinds that begin with some.
	Skill func(ctx context.Context, name string) (string, error)
	// Connect returns the tools of MCP servers that kinds bring along, and what is to be
	// called when the agent has ended.
	Connect func(ctx context.Context, servers []Server) (ts []tool.Tool, release func(), err error)

	mu    sync.Mutex
	trees map[string]*tree // by the session at the root
}

const (
	defaultDepth  = 1
	defaultAgents = 100
	defaultTurns  = 10
)

// A tree is the agents under one session.
type tree struct {
	jobs  map[string]*job // in the background, by session
	busy  map[string]*job // by session, until they have ended
	names map[string]*job // that are taken
	count int             // at work, and about to be
}

func sharedOf(s *team.Store) teamstore.Shared { return (*teamstore.Store)(s).Shared() }

// shared is what members of a team share.
func (c *Manager) shared() teamstore.Shared { return sharedOf(c.Team) }

// definitions returns the kinds of agents, the one for any work first.
func (c *Manager) definitions() []Definition {
	var all []Definition
	candidates := c.own()
	if !c.NoBuiltin {
		candidates = append(candidates, Builtin()...)
	}
	for _, d := range candidates {
		usable := d.Agent != nil && d.Agent.Name != "" // CheckSubagents tells the program
		if usable && !slices.ContainsFunc(all, func(o Definition) bool { return strings.EqualFold(o.Agent.Name, d.Agent.Name) }) {
			all = append(all, d)
		}
	}
	general := Builtin()[0].Agent.Name
	if i := slices.IndexFunc(all, func(d Definition) bool { return d.Agent.Name == general }); i > 0 {
		d := all[i]
		all = slices.Insert(slices.Delete(all, i, i+1), 0, d)
	}
	return all
}

// Subagents returns what the tools need of c.
func (c *Manager) Subagents() tools.Subagents {
	return tools.Subagents(toolapi.NewHandle[toolapi.Spawner](spawner{c}))
}

// A spawner serves the tools.
type spawner struct{ c *Manager }

// EndSession implements [toolapi.Agents].
func (s spawner) EndSession(session string) error { return s.c.EndSession(session) }

// Offer implements [toolapi.Spawner].
func (s spawner) Offer() toolapi.Offer {
	c := s.c
	o := toolapi.Offer{Background: true}
	for _, d := range c.definitions() {
		o.Types = append(o.Types, toolapi.AgentType{Name: d.Agent.Name, Description: d.Description, ReadOnly: d.ReadOnly && d.Isolation == "", Isolated: d.Isolation != "", Tools: toolNames(d.Agent.Tools)})
	}
	if c.Worktrees != nil {
		o.Isolations = []string{worktreeIsolation}
	}
	return o
}

func toolNames(ts []tool.Tool) []string {
	var names []string
	for _, t := range ts {
		names = append(names, t.Spec().Name)
	}
	return names
}

// errNoRun: an agent is to be started outside of a run.
var errNoRun = errors.New("only a run can start agents")

// Spawn implements [toolapi.Spawner].
func (w spawner) Spawn(ctx context.Context, s toolapi.Spawn) (*toolapi.Spawned, error) {
	c := w.c
	p, ok := parentrun.Of(ctx)
	if !ok {
		return nil, fmt.Errorf("starting an agent: %w", errNoRun)
	}
	d, err := c.kind(s.Type)
	if err != nil {
		return nil, err
	}
	deepest := cmp.Or(c.MaxDepth, defaultDepth)
	if p.Depth() >= deepest {
		return nil, fmt.Errorf("agents at depth %d start no others (at most %d deep): do it yourself", p.Depth(), deepest)
	}
	id := s.Resume
	if id == "" {
		if id, err = p.Assigned(ctx, s.Call.ID); err != nil {
			return nil, err
		}
	}
	j, err := c.reserve(s, id)
	if err != nil {
		return nil, err
	}
	child, err := c.configure(ctx, p, d, s, j)
	if err != nil {
		c.release(j)
		return nil, err
	}
	child.Watch = j.see
	if j.team == "" {
		child.Note = j.last
	}
	if p.Depth()+1 >= deepest {
		child.Agent.DisallowedTools = append(slices.Clone(child.Agent.DisallowedTools), "Agent")
	}
	if s.Background || d.Background || j.team != "" {
		return c.start(ctx, p, j, child)
	}
	defer c.release(j)
	res, err := p.Run(ctx, child)
	if res == nil {
		return nil, err
	}
	return j.spawned(res, err), nil
}

// kind returns the kind of a name.
func (c *Manager) kind(name string) (Definition, error) {
	for _, d := range c.definitions() {
		if strings.EqualFold(d.Agent.Name, name) {
			return d, nil
		}
	}
	return Definition{}, fmt.Errorf("there is no kind of agent %q", name)
}

// configure makes the child that a call asks for.
func (c *Manager) configure(ctx context.Context, p parentrun.Run, d Definition, s toolapi.Spawn, j *job) (parentrun.Child, error) {
	a := d.Bounded()
	child := parentrun.Child{Agent: a, Name: j.name, Call: s.Call.ID, Session: s.Resume, Mode: s.Mode, Input: agent.Input{Text: s.Prompt}}
	if a.Budget.Turns = cmp.Or(s.MaxTurns, a.Budget.Turns, c.Turns, defaultTurns); a.Budget.Turns < 0 {
		return child, fmt.Errorf("maxTurns is %d; it must be at least 1", a.Budget.Turns)
	}
	if name := cmp.Or(s.Model, d.Model); name != "" && name != "inherit" {
		m, err := p.Model(name)
		if err != nil {
			return child, fmt.Errorf("%w; the model inherit is yours", err)
		}
		a.Model = m
	}
	for _, name := range d.Skills {
		if c.Skill == nil {
			return child, fmt.Errorf("the kind %s begins with the skill %s, and there are no skills here", a.Name, name)
		}
		text, err := c.Skill(ctx, name)
		if err != nil {
			return child, fmt.Errorf("the kind %s begins with the skill %s: %w", a.Name, name, err)
		}
		a.System += "\n\n" + text
	}
	if err := c.connect(ctx, p, d, a, j); err != nil {
		return child, err
	}
	if err := c.join(ctx, s, j, a); err != nil {
		return child, err
	}
	at, err := locationOf(ctx, p, d, s, j.id)
	if err != nil || at == nil {
		return child, err
	}
	return child, c.isolate(ctx, *at, cmp.Or(s.Isolation, d.Isolation) != "", j, a)
}

// connect adds the tools of the MCP servers that the kind names.
func (c *Manager) connect(ctx context.Context, p parentrun.Run, d Definition, a *agent.Agent, j *job) error {
	var own []Server
	for _, s := range d.Servers {
		if s.Config != nil {
			own = append(own, s)
			continue
		}
		prefix := "mcp__" + s.Name + "__"
		found := false
		for _, t := range p.Tools() {
			if name := t.Spec().Name; strings.HasPrefix(name, prefix) {
				found = true
				if len(a.AllowedTools) > 0 {
					a.AllowedTools = append(slices.Clone(a.AllowedTools), name)
				}
			}
		}
		if !found {
			return fmt.Errorf("the kind %s wants the MCP server %s, and none of its tools are here", a.Name, s.Name)
		}
	}
	if len(own) == 0 {
		return nil
	}
	if c.Connect == nil {
		return fmt.Errorf("the kind %s brings MCP servers along, and they cannot be connected here", a.Name)
	}
	more, release, err := c.Connect(ctx, own)
	if err != nil {
		return fmt.Errorf("connecting the MCP servers of %s: %w", a.Name, err)
	}
	j.atEnd(release)
	if a.Tools == nil && a.Toolsets == nil {
		a.Tools = p.Tools()
	}
	a.Tools = append(slices.Clone(a.Tools), more...)
	if len(a.AllowedTools) > 0 {
		a.AllowedTools = slices.Clone(a.AllowedTools)
		for _, t := range more {
			a.AllowedTools = append(a.AllowedTools, t.Spec().Name)
		}
	}
	return nil
}

// reserve takes the place and the name of an agent that is about to begin.
func (c *Manager) reserve(s toolapi.Spawn, id string) (*job, error) {
	root := cmp.Or(s.Call.Root, s.Call.Session)
	j := &job{root: root, kind: s.Type, id: id, name: cmp.Or(s.Name, s.Type), jobWork: jobWork{tools: map[string]int{}}, over: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees == nil {
		c.trees = map[string]*tree{}
	}
	if c.trees[root] == nil {
		c.trees[root] = &tree{jobs: map[string]*job{}, busy: map[string]*job{}, names: map[string]*job{}}
	}
	tr := c.trees[root]
	most := cmp.Or(c.MaxAgents, defaultAgents)
	switch {
	case tr.count >= most:
		return nil, fmt.Errorf("%d agents are at work, and no more may be at a time: wait for one of them", tr.count)
	case tr.busy[j.id] != nil:
		return nil, fmt.Errorf("the agent %s is at work, or a member of a team that waits for mail: it can be resumed when it has ended", j.id)
	case s.Name != "" && tr.names[s.Name] != nil:
		return nil, fmt.Errorf("the name %s is taken by an agent that is at work", s.Name)
	}
	for n := 2; tr.names[j.name] != nil; n++ { // tasks and mail know agents by their names
		j.name = fmt.Sprintf("%s-%d", s.Type, n)
	}
	tr.names[j.name] = j
	tr.busy[j.id] = j
	tr.count++
	return j, nil
}

// releasing bounds the time for freeing the tasks of an agent that ends.
const releasing = 5 * time.Second

// release gives the place, the name and the tasks of an agent back, and ends what it
// had.
func (c *Manager) release(j *job) {
	if c.Tasks != nil {
		ctx, cancel := context.WithTimeout(context.Background(), releasing)
		_, _ = teamstore.Release(ctx, sharedOf(c.Tasks), j.root, j.name) // a lease frees what this does not
		cancel()
	}
	j.finish()
	c.mu.Lock()
	defer c.mu.Unlock()
	tr := c.trees[j.root]
	tr.count--
	delete(tr.busy, j.id)
	if tr.names[j.name] == j {
		delete(tr.names, j.name)
	}
}

// EndSession forgets the agents of a session at the root. The tool Agent calls it.
func (c *Manager) EndSession(session string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tr := c.trees[session]; tr != nil && tr.count == 0 {
		delete(c.trees, session)
	}
	return nil
}

// find returns the job of an agent in a call's tree, by its id or its name, also of one in
// the background that has ended.
func (c *Manager) find(call tool.Call, id string) (j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tr := c.trees[cmp.Or(call.Root, call.Session)]
	if tr == nil {
		return nil
	}
	if j = cmp.Or(tr.busy[id], tr.jobs[id], tr.names[id]); j != nil {
		return j
	}
	for _, ended := range tr.jobs { // the latest of a name
		if ended.name == id && (j == nil || ended.begunAt().After(j.begunAt())) {
			j = ended
		}
	}
	return j
}

var _ toolapi.Agents = spawner{}
