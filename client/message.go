package client

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// A Message is a line of the program: system, assistant, user, stream_event, result, or a
// type that only newer programs know.
type Message struct {
	Type    string // what the line is
	Subtype string // of system and result, such as init and success
	ID      string // uuid of the line
	// Parent is the id of the call that started the sub-agent of the line, "" for the main
	// agent.
	Parent  string
	Content llm.Blocks      // of assistant and user
	Init    *Init           // of system init
	Result  *Result         // of result
	Raw     json.RawMessage // the whole line

	delta      string
	background bool // a result of background work, not of a prompt
	number     int
}

// Text returns the text of an assistant or user message, the text that a stream_event adds,
// and "" for any other message.
func (m Message) Text() string {
	if m.Type == "stream_event" {
		return m.delta
	}
	return m.Content.Text()
}

// An Init describes the session. It comes before the messages of a prompt.
type Init struct {
	Dir     string          `json:"cwd"`            // working directory of the program
	Model   string          `json:"model"`          // the model that the program asks
	Mode    permission.Mode `json:"permissionMode"` // permission mode
	Tools   []string        `json:"tools"`          // names of the tools that the model may call
	Servers []Server        `json:"mcp_servers"`    // configured MCP servers
}

// A Server is an MCP server that the program uses.
type Server struct {
	Name   string   `json:"name"`   // as it is configured
	Status string   `json:"status"` // connected, failed, needs-auth, pending or disabled
	Error  string   `json:"error"`  // why it failed
	Tools  []string `json:"-"`      // names of its tools, from [Session.MCPStatus] alone
}

// A Result ends the messages of a prompt.
type Result struct {
	Text   string // the answer
	Err    error  // why the run failed; nil: it succeeded
	Reason string // why the run ended, such as completed or max_turns
	Turns  int    // requests to the model
	// CostUSD is nil if the cost is not known.
	CostUSD    *float64
	Usage      llm.Usage       // tokens
	Structured json.RawMessage // the answer that satisfies a JSON Schema, if one was given
	Denials    []llm.ToolUse   // calls that were denied
}

// newMessage reads a line. Members of wrong types count as absent.
func newMessage(members map[string]json.RawMessage, raw json.RawMessage) Message {
	m := Message{Type: str(members["type"]), Subtype: str(members["subtype"]), ID: str(members["uuid"]), Parent: str(members["parent_tool_use_id"]), Raw: raw}
	switch m.Type {
	case "assistant", "user":
		var message struct {
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(members["message"], &message) == nil {
			m.Content, _ = contentjson.Parse(message.Content) // other content is in Raw
		}
	case "stream_event":
		var e struct {
			Delta struct {
				Text string `json:"text"`
			} `json:"delta"`
		}
		if json.Unmarshal(members["event"], &e) == nil {
			m.delta = e.Delta.Text
		}
	case "system":
		if m.Subtype == "init" {
			m.Init = new(Init)
			if json.Unmarshal(raw, m.Init) != nil {
				m.Init = nil
			}
		}
	case "result":
		m.Result, m.background = newResult(m.Subtype, raw)
	}
	return m
}

// str returns a JSON string, "" for anything else.
func str(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// newResult reads a result, and whether it is of background work.
func newResult(subtype string, raw json.RawMessage) (*Result, bool) {
	var w struct {
		IsError bool     `json:"is_error"`
		Result  string   `json:"result"`
		Errors  []string `json:"errors"`
		Reason  string   `json:"terminal_reason"`
		Turns   int      `json:"num_turns"`
		CostUSD *float64 `json:"total_cost_usd"`
		Usage   struct {
			Input      int `json:"input_tokens"`
			Output     int `json:"output_tokens"`
			CacheRead  int `json:"cache_read_input_tokens"`
			CacheWrite int `json:"cache_creation_input_tokens"`
			Creation   struct {
				Hour int `json:"ephemeral_1h_input_tokens"`
			} `json:"cache_creation"`
		} `json:"usage"`
		Denials []struct {
			ToolName  string          `json:"tool_name"`
			ToolUse   string          `json:"tool_use_id"`
			ToolInput json.RawMessage `json:"tool_input"`
		} `json:"permission_denials"`
		Structured json.RawMessage `json:"structured_output"`
		Origin     struct {
			Kind string `json:"kind"`
		} `json:"origin"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return &Result{Err: errors.New("the result has members of unknown types; look at Raw")}, false
	}
	r := &Result{Text: w.Result, Reason: w.Reason, Turns: w.Turns, CostUSD: w.CostUSD,
		Usage: llm.Usage{Input: w.Usage.Input, Output: w.Usage.Output, CacheRead: w.Usage.CacheRead, CacheWrite: w.Usage.CacheWrite, CacheWriteHour: w.Usage.Creation.Hour}}
	if string(w.Structured) != "null" {
		r.Structured = w.Structured
	}
	for _, d := range w.Denials {
		r.Denials = append(r.Denials, llm.ToolUse{ID: d.ToolUse, Name: d.ToolName, Input: d.ToolInput})
	}
	if w.IsError || subtype != "success" {
		why := strings.Join(w.Errors, "; ")
		if why == "" {
			why = w.Result
		}
		if why == "" {
			why = "the run ended with " + subtype
		}
		r.Err = errors.New(why)
	}
	return r, w.Origin.Kind == "task-notification"
}
