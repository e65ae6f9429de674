package agentserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// maxSessions bounds the sessions that a client can continue with: the latest.
const maxSessions = 1000

// An answer is the result of a prompt, the structured content of the tool's result.
type answer struct {
	Session string          `json:"session"`            // a later call with it continues the session
	Result  string          `json:"result"`             // the text of the answer
	Reason  event.EndReason `json:"reason"`             // why the run ended
	Turns   int             `json:"turns"`              // answers of the model
	CostUSD *float64        `json:"cost_usd,omitempty"` // nil: the price of a model is not known
}

var outcomeSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"session":{"type":"string","description":"goes on with this session where it is given back"},` +
	`"result":{"type":"string","description":"the answer"},` +
	`"reason":{"type":"string","description":"why the run ended; completed is the ordinary end"},` +
	`"turns":{"type":"integer","description":"answers of the model"},` +
	`"cost_usd":{"type":"number","description":"left out where a price is not known"}},` +
	`"required":["session","result","reason","turns"]}`)

// Prompts returns a server with one tool, "prompt", which prompts the agent and waits for
// the answer. The result is structured: session (a later call with it continues the session),
// result (the text of the answer), reason (why the run ended), turns and cost_usd. Each prompt is its own session; if the agent keeps sessions the same client can continue
// one. The agent's steps are reported as progress. description is that of the tool and
// describes the agent's work; "" is a general one.
func Prompts(a *agent.Agent, description string, o server.Options) (server.Server, error) {
	if o.Tools != nil {
		return nil, errors.New("serving an agent: Options.Tools must be empty, because the agent provides them")
	}
	p := &prompts{agent: *a}
	o.Tools = []tool.Tool{p.tool(cmp.Or(description, "Gives a task to an agent, which works on it with tools of its own and answers when it is done."))}
	return open(o, mcpserver.Callbacks{Call: p.call})
}

type prompts struct {
	agent agent.Agent

	mu    sync.Mutex
	begun []begun
}

// begun is a session that a client has begun.
type begun struct{ client, session string }

type promptInput struct {
	Prompt  string `json:"prompt" jsonschema:"what the agent is to do, with all that it has to know"`
	Session string `json:"session,omitempty" jsonschema:"a session of an earlier answer, to go on with it"`
}

// tool returns the tool. Calls of clients go to p.call; those of this program, which have no client,
// to p.prompt.
func (p *prompts) tool(description string) tool.Tool {
	spec := tool.Spec{Name: "prompt", Title: "Prompt the agent", Description: description, Output: outcomeSchema, OpenWorld: true, Timeout: -1}
	return tool.New(spec, func(ctx context.Context, _ tool.Call, in promptInput) (*tool.Result, error) {
		return p.prompt(ctx, p.agent, "", in)
	})
}

func (p *prompts) call(ctx context.Context, client *mcpserver.Client, call tool.Call) (*tool.Result, error) {
	if err := client.Tool().(toolrun.Validator).Validate(call); err != nil {
		return tool.Errorf("%v", err), nil
	}
	var in promptInput
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Errorf("the prompt is empty"), nil
	}
	a := p.agent
	a.CanUseTool, a.AskUser = judges(p.agent.CanUseTool, client), client.AskUser
	return p.prompt(ctx, a, client.Session(), in)
}

// prompt prompts the agent for a client; "" is this program.
func (p *prompts) prompt(ctx context.Context, a agent.Agent, client string, in promptInput) (*tool.Result, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return tool.Errorf("the prompt is empty"), nil
	}
	if in.Session != "" && !p.owns(begun{client, in.Session}) {
		return tool.Errorf("there is no session %q of this client to go on with; leave it out for a new one", in.Session), nil
	}
	id := cmp.Or(in.Session, session.NewID())
	s := a.Session(id)
	defer s.Close()
	if a.Sessions != nil {
		p.remember(begun{client, id})
	}
	var failed error
	for e, err := range s.Stream(ctx, in.Prompt) {
		if err != nil {
			failed = err
			break
		}
		report(ctx, e.Data)
	}
	r := s.Result()
	if r == nil {
		return nil, failed
	}
	return outcome(r, failed)
}

func (p *prompts) owns(b begun) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.begun {
		if known == b {
			return true
		}
	}
	return false
}

func (p *prompts) remember(b begun) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.begun {
		if known == b {
			return
		}
	}
	p.begun = append(p.begun, b)
	if len(p.begun) > maxSessions {
		p.begun = p.begun[1:]
	}
}

// report shows the agent's steps to the client.
func report(ctx context.Context, d event.Data) {
	switch d := d.(type) {
	case event.ToolProgress:
		text := d.Tool
		if d.Status.Text != "" {
			text += ": " + d.Status.Text
		}
		tool.Progress(ctx, tool.Status{Text: text})
	case fact.ModelStart:
		tool.Progress(ctx, tool.Status{Text: "asking " + d.Model})
	}
}

// outcome makes the tool's result. A run that ended early is an error, with the agent's
// last text.
func outcome(r *agent.Result, failed error) (*tool.Result, error) {
	if failed != nil {
		return tool.Errorf("%v\nsession: %s\n%s", failed, r.Session, cmp.Or(r.Text, r.Partial)), nil
	}
	details, err := json.Marshal(answer{r.Session, r.Text, r.Reason, r.Turns, r.CostUSD})
	if err != nil {
		return nil, fmt.Errorf("describing the result of the prompt: %w", err)
	}
	out := tool.Text(r.Text)
	out.Details = details
	return out, nil
}
