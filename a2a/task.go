package a2aagent

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A place names a task: a session, and the fact that is its prompt.
type place struct {
	session string
	seq     int64
}

// plain are the names of sessions that can be a part of an address as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

// taskID returns the name of a task in the protocol.
func (p place) taskID() a2a.TaskID {
	name := p.session
	if !plain.MatchString(name) {
		name = "~" + base64.RawURLEncoding.EncodeToString([]byte(name))
	}
	return a2a.TaskID(name + "." + strconv.FormatInt(p.seq, 10))
}

// TaskInfo implements [a2a.TaskInfoProvider].
func (p place) TaskInfo() a2a.TaskInfo { return a2a.TaskInfo{TaskID: p.taskID(), ContextID: p.session} }

// placeOf reads the name of a task.
func placeOf(id a2a.TaskID) (p place, ok bool) {
	i := strings.LastIndexByte(string(id), '.')
	if i < 0 {
		return p, false
	}
	seq, err := strconv.ParseInt(string(id[i+1:]), 10, 64)
	p = place{string(id[:i]), seq}
	if coded, ok := strings.CutPrefix(p.session, "~"); ok {
		name, err := base64.RawURLEncoding.DecodeString(coded)
		if err != nil {
			return p, false
		}
		p.session = string(name)
	}
	return p, err == nil && seq > 0 && session.CheckID(p.session) == nil && p.taskID() == id
}

// sessionOf returns the session of a message that begins a context. It is the same if the message
// comes again.
func sessionOf(message string) string {
	sum := sha256.Sum256([]byte(message))
	return "a2a-" + hex.EncodeToString(sum[:16])
}

// answerArtifact is the artifact with the answer of a task.
const answerArtifact a2a.ArtifactID = "answer"

// The history of a task has its first message and the latest.
const (
	maxHistory      = 100     // messages
	maxHistoryBytes = 4 << 20 // of the latest messages, unless there is one alone
)

// A task is what the facts say about one.
type task struct {
	place
	history []*a2a.Message
	later   int    // bytes of the texts of the history after its first message
	text    string // of the last answer
	end     *event.RunEnd
	over    bool      // the next prompt is on record
	updated time.Time // of the last fact
	last    int64     // number of the last fact
}

// apply takes a fact in. It reports false for one that is not the task's.
func (t *task) apply(e event.Event) bool {
	if d, ok := e.Data.(event.UserMessage); ok && e.Seq > t.seq && isPrompt(d) {
		t.over = true
		return false
	}
	t.last, t.updated = e.Seq, e.Time
	switch d := e.Data.(type) {
	case event.UserMessage:
		switch d.Delivery {
		case "", "prompt", "steer", "follow_up":
			t.keep(d)
		}
	case event.AssistantMessage:
		t.text = cmp.Or(d.Response.Message.Text(), t.text)
	case event.RunEnd:
		if d.Reason != event.Suspended {
			t.end = &d
			t.text = cmp.Or(d.Text, d.Partial, t.text)
		}
	}
	return true
}

// isPrompt reports whether a message begins a task.
func isPrompt(d event.UserMessage) bool { return d.Delivery == "" || d.Delivery == "prompt" }

// keep adds a message of the client to the history.
func (t *task) keep(d event.UserMessage) {
	m := a2a.NewMessageForTask(a2a.MessageRoleUser, t.place, a2a.NewTextPart(d.Message.Text()))
	m.ID = d.ID
	t.history = append(t.history, m)
	if len(t.history) > 1 {
		t.later += textOf(m)
	}
	for len(t.history) > 2 && (len(t.history) > maxHistory || t.later > maxHistoryBytes) {
		t.later -= textOf(t.history[1])
		t.history = append(t.history[:1], t.history[2:]...)
	}
}

// textOf returns the size of the text of a message.
func textOf(m *a2a.Message) int { return len(m.Parts[0].Text()) }

// size returns about how many bytes the task has.
func (t *task) size() int {
	n := len(t.text) + t.later
	if len(t.history) > 0 {
		n += textOf(t.history[0])
	}
	if t.end != nil {
		n += len(t.end.Output)
	}
	return n
}

// status returns the state of the task. asked are the questions that wait for a person.
func (t *task) status(asked []question) a2a.TaskStatus {
	s := a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &t.updated}
	say := func(id, text string, more ...*a2a.Part) {
		s.Message = a2a.NewMessageForTask(a2a.MessageRoleAgent, t.place, append([]*a2a.Part{a2a.NewTextPart(text)}, more...)...)
		s.Message.ID = string(t.taskID()) + "-" + id
	}
	switch {
	case t.end != nil:
		switch t.end.Reason {
		case event.Completed, event.ToolEnded, event.MaxTokens:
			s.State = a2a.TaskStateCompleted
			return s
		case event.Interrupted:
			s.State = a2a.TaskStateCanceled
		case event.Refused:
			s.State = a2a.TaskStateRejected
		default:
			s.State = a2a.TaskStateFailed
		}
		say("end", cmp.Or(t.end.Message, "the run ended: "+string(t.end.Reason)))
	case t.over:
		s.State = a2a.TaskStateFailed
		say("end", "the run stopped before its end")
	case len(asked) > 0:
		s.State = a2a.TaskStateInputRequired
		q := asked[0]
		say(q.Call, q.about(), a2a.NewDataPart(q))
	}
	return s
}

// task returns the task for clients.
func (t *task) task(asked []question) *a2a.Task {
	out := &a2a.Task{ID: t.taskID(), ContextID: t.session, History: t.history, Status: t.status(asked)}
	if a := t.answer(); a != nil {
		out.Artifacts = []*a2a.Artifact{a}
	}
	return out
}

// answer returns the answer so far, nil if there is none.
func (t *task) answer() *a2a.Artifact {
	var parts []*a2a.Part
	if t.text != "" {
		parts = append(parts, a2a.NewTextPart(t.text))
	}
	if t.end != nil && len(t.end.Output) > 0 {
		p := a2a.NewDataPart(t.end.Output)
		p.MediaType = "application/json"
		parts = append(parts, p)
	}
	if parts == nil {
		return nil
	}
	return &a2a.Artifact{ID: answerArtifact, Name: "answer", Parts: parts}
}

// A question is a call that waits for a person, as the API tells it and as clients get it.
type question struct {
	Call      string          `json:"call"`
	Kind      string          `json:"kind"` // permission or question
	Agent     string          `json:"agent,omitempty"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input,omitempty"`
	Text      string          `json:"text"`
	Preview   string          `json:"preview,omitempty"`
	Questions []tool.Question `json:"questions,omitempty"`
}

// about says what is asked.
func (q question) about() string {
	if q.Kind != "permission" {
		return q.Text
	}
	s := "May the agent use " + q.Tool + "?"
	if q.Text != "" {
		s += " " + q.Text
	}
	return s + "\n" + string(q.Input) + "\nAnswer \"allow\". Anything else denies it and is told to the agent as the reason."
}

// A reply is the answer to a question, as the data of a message.
type reply struct {
	Call     string        `json:"call"`
	Behavior string        `json:"behavior"` // allow or deny, to a question about permission
	Reason   string        `json:"reason"`
	Answers  []tool.Answer `json:"answers"` // to questions of a tool
}

// replyOf reads a message as a reply to one of the questions that wait.
func replyOf(m *a2a.Message, asked []question) (q question, r reply, err error) {
	q = asked[0]
	var texts []string
	for _, p := range m.Parts {
		switch c := p.Content.(type) {
		case a2a.Text:
			texts = append(texts, string(c))
		case a2a.Data:
			b, err := json.Marshal(c.Value)
			if err == nil {
				err = json.Unmarshal(b, &r)
			}
			if err != nil || r.Call == "" {
				return q, r, invalid("the data of an answer must be an object with call, and with behavior or answers")
			}
		default:
			return q, r, invalid("an answer must be a text or data")
		}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if r.Call != "" {
		i := 0
		for i < len(asked) && asked[i].Call != r.Call {
			i++
		}
		if i == len(asked) {
			return q, r, invalid("the call does not wait for an answer")
		}
		q = asked[i]
	}
	switch {
	case q.Kind == "permission" && r.Call != "":
		if r.Behavior != "allow" && r.Behavior != "deny" {
			return q, r, invalid("behavior must be allow or deny")
		}
		r.Reason = cmp.Or(r.Reason, text)
	case q.Kind == "permission":
		r.Behavior, r.Reason = "deny", text
		if strings.EqualFold(text, "allow") || strings.EqualFold(text, "yes") {
			r.Behavior, r.Reason = "allow", ""
		}
	case r.Call == "":
		r.Answers = make([]tool.Answer, max(len(q.Questions), 1))
		for i := range r.Answers {
			r.Answers[i].Text = text
		}
	}
	r.Call = q.Call
	return q, r, nil
}

// contentOf reads a message as content of a prompt.
func contentOf(m *a2a.Message) (text string, blocks llm.Blocks, err error) {
	var texts []string
	for _, p := range m.Parts {
		switch c := p.Content.(type) {
		case a2a.Text:
			texts = append(texts, string(c))
		case a2a.Data:
			b, err := json.Marshal(c.Value)
			if err != nil {
				return "", nil, invalid("a part has data that is not JSON")
			}
			texts = append(texts, string(b))
		case a2a.Raw:
			switch kind := p.MediaType; kind {
			case "image/png", "image/jpeg", "image/gif", "image/webp":
				blocks = append(blocks, llm.Image{MediaType: kind, Data: c})
			case "application/pdf":
				blocks = append(blocks, llm.Document{MediaType: kind, Title: p.Filename, Data: c})
			case "text/plain", "text/markdown", "text/csv", "application/json":
				blocks = append(blocks, llm.Document{MediaType: "text/plain", Title: p.Filename, Data: c})
			default:
				return "", nil, a2a.NewError(a2a.ErrUnsupportedContentType, "files may be images (PNG, JPEG, GIF, WebP), PDFs and texts")
			}
		default:
			return "", nil, a2a.NewError(a2a.ErrUnsupportedContentType, "send the content of files: the agent loads no addresses")
		}
	}
	text = strings.Join(texts, "\n\n")
	if strings.TrimSpace(text) == "" && len(blocks) == 0 {
		return "", nil, invalid("the message is empty")
	}
	return text, blocks, nil
}
