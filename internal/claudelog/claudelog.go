// Package claudelog writes sessions as the files that Claude Code keeps of its own. Programs
// that list, read, rename and fork those, such as the Claude Agent SDKs, find them there:
//
//	CONFIG/projects/FOLDER/ID.jsonl                       the session
//	CONFIG/projects/FOLDER/ID/subagents/agent-ID.jsonl    a sub-agent
//	CONFIG/projects/FOLDER/ID/subagents/agent-ID.meta.json
//
// CONFIG is the variable CLAUDE_CONFIG_DIR or ~/.claude. A line is a message and names the
// one before it.
package claudelog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/contentjson"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// maxFolder bounds the length of a folder's name that is made of a path alone.
const maxFolder = 200

var (
	unsafe = regexp.MustCompile(`[^a-zA-Z0-9]`)
	uuid   = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
)

// Path returns the file of a session that works in a folder. A session needs a UUID as its
// id, because readers pass over files of other names.
func Path(config, dir, id string) (string, error) {
	if !uuid.MatchString(id) {
		return "", fmt.Errorf("the id of session %s is not a UUID, so programs for Claude Code would not find it; fork the session to give it one", id)
	}
	return filepath.Join(config, "projects", folder(dir), id+".jsonl"), nil
}

// folder names the folder of a project. Readers count in UTF-16.
func folder(dir string) string {
	units := utf16.Encode([]rune(dir))
	name := make([]byte, len(units))
	hash := int32(0)
	for i, u := range units {
		name[i] = '-'
		if u < 0x80 && !unsafe.MatchString(string(rune(u))) {
			name[i] = byte(u)
		}
		hash = hash<<5 - hash + int32(u)
	}
	if len(name) <= maxFolder {
		return string(name)
	}
	return string(name[:maxFolder]) + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}

// AgentPath returns the file of a sub-agent of the session whose file is at path.
func AgentPath(path, agent string) string {
	return filepath.Join(path[:len(path)-len(".jsonl")], "subagents", "agent-"+unsafe.ReplaceAllString(agent, "-")+".jsonl")
}

// A line is a message in a file.
type line struct {
	Parent    *string         `json:"parentUuid"`
	Sidechain bool            `json:"isSidechain"`
	Agent     string          `json:"agentId,omitempty"`
	UserType  string          `json:"userType"`
	Cwd       string          `json:"cwd"`
	Session   string          `json:"sessionId"`
	Branch    string          `json:"gitBranch"`
	Type      string          `json:"type"` // user or assistant
	Message   any             `json:"message"`
	Meta      bool            `json:"isMeta,omitempty"` // of the program, not of a person
	Result    json.RawMessage `json:"toolUseResult,omitempty"`
	Call      string          `json:"sourceToolAssistantUUID,omitempty"`
	UUID      string          `json:"uuid"`
	Time      string          `json:"timestamp"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type assistantMessage struct {
	ID           string         `json:"id"`
	Type         string         `json:"type"`
	Role         string         `json:"role"`
	Model        string         `json:"model"`
	Content      []any          `json:"content"`
	StopReason   llm.StopReason `json:"stop_reason"`
	StopSequence *string        `json:"stop_sequence"`
	Usage        usage          `json:"usage"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

// Lines makes the lines of a session, or of one of its sub-agents, of its facts. The facts of
// rewound parts may be among them: the next message names the one that it follows.
type Lines struct {
	session, agent, dir, branch string
	hide                        redact.Values

	last []string // by the number of a fact: the id of the latest line up to it
	held map[string]event.Event
	uses map[string]use // by our id of a call
}

// A use is a call in a line.
type use struct{ id, line string }

// Hidden returns the values that files do not hold: secrets, and the values of environment
// variables whose names say that they are secret.
func Hidden(secrets []string) redact.Values {
	return redact.New(append(environ.Secrets(), secrets...))
}

// NewLines returns the lines of the session with the given id and header. agent is the id of
// the sub-agent that they are of, "" for the session itself. Values of hide become ***.
func NewLines(id, agent string, h session.Header, hide redact.Values) *Lines {
	return &Lines{session: id, agent: agent, dir: h.Dir, branch: h.Branch, hide: hide, held: map[string]event.Event{}, uses: map[string]use{}}
}

// Add returns the lines of the next fact.
func (l *Lines) Add(e event.Event) ([]json.RawMessage, error) {
	parent := ""
	if e.Prev >= 1 && e.Prev <= int64(len(l.last)) {
		parent = l.last[e.Prev-1]
	}
	var out []json.RawMessage
	var failed error
	add := func(of event.Event, n line) {
		n.UUID, n.Time = cmp.Or(n.UUID, idOf(of)), of.Time.UTC().Format("2006-01-02T15:04:05.000Z")
		n.Session, n.Agent, n.Sidechain, n.Cwd, n.Branch, n.UserType = l.session, l.agent, l.agent != "", l.dir, l.branch, "external"
		if parent != "" {
			n.Parent = new(parent)
		}
		data, err := json.Marshal(n)
		if data = l.hide.JSON(data); err == nil && data == nil {
			err = fmt.Errorf("fact %d cannot be written without secrets", of.Seq)
		}
		if err != nil {
			failed = err
			return
		}
		parent = n.UUID
		out = append(out, data)
	}
	switch d := e.Data.(type) {
	case event.UserMessage:
		if d.Delivery == fact.AsPrompt || d.Delivery == fact.AsContinue {
			add(e, said(d))
		} else {
			l.held[d.ID] = e
		}
	case fact.Delivered:
		for _, id := range d.IDs {
			if held, ok := l.held[id]; ok {
				delete(l.held, id)
				add(held, said(held.Data.(event.UserMessage)))
			}
		}
	case event.AssistantMessage:
		blocks, calls := d.Response.Message.Content, 0
		for i := range max(len(blocks), 1) {
			n := answered(e, d, i)
			if i < len(blocks) {
				if u, ok := blocks[i].(llm.ToolUse); ok {
					l.uses[fmt.Sprintf("c%d.%d", e.Seq, calls)] = use{u.ID, n.UUID}
					calls++
				}
			}
			add(e, n)
		}
	case event.ToolResult:
		if u, ok := l.uses[d.Call]; ok {
			add(e, resulted(u, d))
		}
	}
	l.note(e.Seq, parent)
	return out, failed
}

// note records which line a later fact follows.
func (l *Lines) note(seq int64, id string) {
	for int64(len(l.last)) < seq {
		before := ""
		if n := len(l.last); n > 0 {
			before = l.last[n-1] // facts that were left out changed nothing
		}
		l.last = append(l.last, before)
	}
	if seq >= 1 {
		l.last[seq-1] = id
	}
}

// An answer of several blocks has a line for each. The last one has the id of the fact, so that what
// follows the answer follows all of it. The number of the block is in the ids of the others, in a byte
// that is 0 in the id of a fact.

// partAt is where an id has the number of a block.
const partAt = len("00000000-0000-0000-00")

// PartID returns the id of the line of a block, from 0, of an answer of n blocks. whole is the id of
// the answer.
func PartID(whole string, block, n int) string {
	if block >= n-1 || block > 254 || !uuid.MatchString(whole) {
		return whole
	}
	return fmt.Sprintf("%s%02x%s", whole[:partAt], block+1, whole[partAt+2:])
}

// WholeID returns the id of the answer that a line belongs to.
func WholeID(id string) string {
	if !uuid.MatchString(id) {
		return id
	}
	return id[:partAt] + "00" + id[partAt+2:]
}

// idOf returns the id of a fact's line: that of the message, if the program that sent it has
// given it one.
func idOf(e event.Event) string {
	if m, ok := e.Data.(event.UserMessage); ok && uuid.MatchString(m.ID) {
		return m.ID
	}
	return e.UUID()
}

func said(d event.UserMessage) line {
	meta := d.Delivery != fact.AsPrompt && d.Delivery != fact.AsSteer && d.Delivery != fact.AsFollowUp
	return line{Type: "user", Meta: meta, Message: userMessage{"user", contentjson.Short(d.Message.Content)}}
}

// answered returns the line of a block of an answer; an answer without blocks has one without content.
func answered(e event.Event, d event.AssistantMessage, i int) line {
	r := d.Response
	blocks := r.Message.Content
	content := Blocks(blocks[min(i, len(blocks)):min(i+1, len(blocks))])
	model := r.Model
	if model == "" {
		model = d.Model
	}
	return line{Type: "assistant", UUID: PartID(e.UUID(), i, len(blocks)), Message: assistantMessage{ID: r.ID, Type: "message", Role: "assistant", Model: model, Content: content,
		StopReason: r.Stop, Usage: usage{r.Usage.Input, r.Usage.CacheWrite, r.Usage.CacheRead, r.Usage.Output}}}
}

func resulted(u use, d event.ToolResult) line {
	result := d.Result.Details
	if d.Result.IsError || len(result) == 0 || !json.Valid(result) {
		text := d.Result.Content.Text()
		if d.Result.IsError {
			text = "Error: " + text
		}
		result, _ = json.Marshal(text) // a string
	}
	block := contentjson.Block(llm.ToolResult{ID: u.id, Content: d.Result.Content, IsError: d.Result.IsError})
	return line{Type: "user", Message: userMessage{"user", []any{block}}, Result: result, Call: u.line}
}

// Names returns the lines that hold the title and the tag of a session, if it has them.
func Names(id string, named event.SessionNamed, hide redact.Values) (out []json.RawMessage) {
	for _, n := range []struct{ kind, member, text string }{{"custom-title", "customTitle", named.Title}, {"tag", "tag", named.Tag}} {
		if n.text == "" {
			continue
		}
		data, err := json.Marshal(map[string]string{"type": n.kind, n.member: hide.Text(n.text), "sessionId": id, "timestamp": time.Now().UTC().Format(time.RFC3339)})
		if err == nil {
			out = append(out, data)
		}
	}
	return out
}
