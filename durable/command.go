package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A Command is something said to a session: one of the types of this package with a method
// command. A command that cannot be carried out, such as a decision about a call
// that is over, is rejected: see [Client.Settled].
type Command interface{ command() }

// A Prompt starts a run, after those of earlier prompts. If a question of the run before
// waits for a person, the prompt waits too.
type Prompt struct {
	Text   string          `json:"text,omitempty"`   // for the model
	Blocks llm.Blocks      `json:"blocks,omitempty"` // images, documents; after the text
	Output json.RawMessage `json:"output,omitempty"` // as in [agent.Input]
	Model  string          `json:"model,omitempty"`  // as in [agent.Input]
	Budget agent.Budget    `json:"budget,omitzero"`  // as in [agent.Input]
	Tools  []string        `json:"tools,omitzero"`   // as in [agent.Input]
	Mode   permission.Mode `json:"mode,omitempty"`   // as in [agent.Input]
}

// A Message goes to the run that is at work, as [agent.Session.Steer] does. Without a run it
// is a prompt.
type Message struct {
	Text   string     `json:"text,omitempty"`   // for the model
	Blocks llm.Blocks `json:"blocks,omitempty"` // images, documents; after the text
}

// A FollowUp goes to the run that is at work, which sees it before it would end, as
// [agent.Session.FollowUp] does. Without a run it is a prompt.
type FollowUp struct {
	Text   string     `json:"text,omitempty"`   // for the model
	Blocks llm.Blocks `json:"blocks,omitempty"` // images, documents; after the text
}

// An Interrupt stops a run, also one that waits for a person.
type Interrupt struct {
	// Prompt is the ID of the prompt, or of the [Compact], whose run is meant. Another run is not
	// stopped. The run of a prompt that has not begun ends when it begins. "": the run that
	// is at work when the command is read.
	Prompt string `json:"prompt,omitempty"`
}

// A Decide answers a permission question, see [agent.Session.Decide].
type Decide struct {
	Call     string              `json:"call"`     // id of the call, as in [session.Question]
	Decision permission.Decision `json:"decision"` // such as permission.Allow()
	// Keep, of an allowance, is the rules of one of the Widths of the [event.PermissionRequest]. They hold
	// for the rest of the session. Other rules, and those that [agent.Agent].AllowRuleGrant refuses, are
	// rejected with the whole command. A question that waits without a run has no Widths.
	Keep []permission.Rule `json:"keep,omitempty"`
}

// An Answer answers the questions of a tool, see [agent.Session.Answer].
type Answer struct {
	Call    string        `json:"call"`    // id of the call, as in [session.Question]
	Answers []tool.Answer `json:"answers"` // one for each question
}

// A SetMode changes the permission mode of a session. [permission.Bypass] is rejected unless the
// worker's agent has it.
type SetMode struct {
	Mode permission.Mode `json:"mode"` // from the next call on
}

// A SetModel changes the model of a session to the one that [agent.Agent].Models returns
// for a name, or to a model of the agent with that name.
type SetModel struct {
	Name string `json:"name"` // of the model
}

// A SetBudget changes the budget of a session.
type SetBudget struct {
	Budget agent.Budget `json:"budget"` // of each prompt
	// USDOnly changes the amount alone: the other limits stay those of the worker's agent.
	USDOnly bool `json:"usd_only,omitempty"`
}

// A Compact compacts the conversation.
type Compact struct {
	Instructions string `json:"instructions,omitempty"` // for the summary
}

// A Rename changes the title of a session.
type Rename struct {
	Title string `json:"title"` // "" removes it
}

// A SetTag changes the tag of a session.
type SetTag struct {
	Tag string `json:"tag"` // "" removes it
}

// A Rewind lets the conversation continue from a fact. It waits for the end of a run. The session keeps
// the permission mode that it has now. Files stay as they are.
type Rewind struct {
	To int64 `json:"to"` // number of the fact
}

func (Prompt) command()    {}
func (Message) command()   {}
func (FollowUp) command()  {}
func (Interrupt) command() {}
func (Decide) command()    {}
func (Answer) command()    {}
func (SetMode) command()   {}
func (SetModel) command()  {}
func (SetBudget) command() {}
func (Compact) command()   {}
func (Rename) command()    {}
func (SetTag) command()    {}
func (Rewind) command()    {}

// commands has the commands by their names in JSON.
var commands = map[string]Command{
	"prompt": Prompt{}, "message": Message{}, "follow_up": FollowUp{}, "interrupt": Interrupt{}, "decide": Decide{}, "answer": Answer{},
	"set_mode": SetMode{}, "set_model": SetModel{}, "set_budget": SetBudget{}, "compact": Compact{}, "rename": Rename{}, "set_tag": SetTag{}, "rewind": Rewind{},
}

// wire is a command in JSON.
type wire struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// nameOf returns the name of a command in JSON, "" for what is no command.
func nameOf(c Command) string {
	for name, zero := range commands {
		if reflect.TypeOf(zero) == reflect.TypeOf(c) {
			return name
		}
	}
	return ""
}

// marshal returns the JSON of a command, {type, data}.
func marshal(c Command) ([]byte, error) {
	name := nameOf(c)
	if name == "" {
		return nil, fmt.Errorf("%T is no command; pass one of the command types of package durable by value", c)
	}
	if err := checkBlocks(c); err != nil {
		return nil, err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wire{name, data})
}

// errUnknown is the error of a command that a newer program has sent.
var errUnknown = errors.New("unknown command, probably of a newer program; update the workers")

// unmarshal reads what marshal wrote.
func unmarshal(body []byte) (Command, error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	zero, ok := commands[w.Type]
	if !ok {
		return nil, fmt.Errorf("%w: %q", errUnknown, w.Type)
	}
	into := reflect.New(reflect.TypeOf(zero))
	strict := json.NewDecoder(bytes.NewReader(w.Data))
	strict.DisallowUnknownFields() // it may be one that restricts the command
	if err := strict.Decode(into.Interface()); err != nil {
		if json.Unmarshal(w.Data, into.Interface()) == nil {
			return nil, fmt.Errorf("command %s, probably of a newer program: %w; update the workers", w.Type, err)
		}
		return nil, fmt.Errorf("command %s: %w", w.Type, err)
	}
	c := into.Elem().Interface().(Command)
	return c, checkBlocks(c)
}

// checkBlocks refuses content that only models and tools write.
func checkBlocks(c Command) error {
	in, _ := input("", c)
	for _, b := range in.Blocks {
		switch b.(type) {
		case llm.Text, llm.Image, llm.Document:
		default:
			return fmt.Errorf("%T is no content of a command; its Blocks may be texts, images and documents", b)
		}
	}
	return nil
}

// input returns the input of a command that says something to the model. ok is false for
// other commands.
func input(id string, c Command) (in agent.Input, ok bool) {
	switch c := c.(type) {
	case Prompt:
		return agent.Input{ID: id, Text: c.Text, Blocks: c.Blocks, Output: c.Output, Model: c.Model, Budget: c.Budget, Tools: c.Tools, Mode: c.Mode}, true
	case Message:
		return agent.Input{ID: id, Text: c.Text, Blocks: c.Blocks}, true
	case FollowUp:
		return agent.Input{ID: id, Text: c.Text, Blocks: c.Blocks}, true
	}
	return agent.Input{}, false
}
