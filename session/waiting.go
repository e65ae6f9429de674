package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A Question is a call that waits for a person.
type Question struct {
	Session string          `json:"session"`          // the session that you resume, also for a sub-agent's question
	Call    string          `json:"call"`             // for Decide or Answer of an agent's session; a sub-agent's begins with its session and "/"
	Agent   string          `json:"agent,omitempty"`  // name of the sub-agent
	Tool    string          `json:"tool"`             // its name
	Input   json.RawMessage `json:"input,omitempty"`  // of the call, as the model wrote it
	Text    string          `json:"text"`             // why it is asked, or what the tool asks
	Since   time.Time       `json:"since"`            // when it was asked
	Expires time.Time       `json:"expires,omitzero"` // when the call is denied if nobody answers; zero: never
	// Questions, unless empty, are those of the call's tool: the call is permitted, and the
	// tool waits for answers, see Answer of an agent's session. Text has their texts.
	Questions []tool.Question `json:"questions,omitempty"`
}

// Waiting returns the questions that wait for a person, the oldest first: those of all
// sessions in the store, or of the named ones. Questions of sub-agents are included, and those
// that have expired are not: resume their sessions, which are [StateUnfinished]. It
// takes no lock. It reads only sessions whose state is [StateWaiting], or not known. Where very
// many wait, page through them with a [Query], and name those of the page.
func Waiting(ctx context.Context, s Store, ids ...string) ([]Question, error) {
	all, err := waiting(ctx, s, ids)
	if err != nil {
		return nil, fmt.Errorf("listing questions: %w", err)
	}
	slices.SortStableFunc(all, func(a, b Question) int { return a.Since.Compare(b.Since) })
	return all, nil
}

func waiting(ctx context.Context, s Store, ids []string) (all []Question, err error) {
	_, nested := s.(interface{ Under(session string) Store })
	var infos []Info
	switch q, ok := s.(querier); {
	case len(ids) == 0 && ok:
		infos, err = q.Query(ctx, Query{State: StateWaiting})
	case len(ids) == 0 || !nested: // agents are in the same list
		infos, err = s.List(ctx)
	}
	for _, id := range ids {
		info, err := Stat(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if nested {
			infos = append(infos, info)
		}
	}
	for _, info := range infos {
		root := rootOf(info, infos)
		if info.State != StateWaiting && info.State != "" || len(ids) > 0 && !slices.Contains(ids, root) {
			continue
		}
		questions, failed := questionsOf(ctx, s, info.Session, nested)
		if failed != nil && len(ids) == 0 && ctx.Err() == nil {
			continue // deleted in between, or damaged: the others count
		}
		err = errors.Join(err, failed)
		for _, q := range questions {
			if root != info.Session {
				q.Session, q.Call, q.Agent = root, info.Session+"/"+q.Call, info.Agent.Name
			}
			all = append(all, q)
		}
	}
	return all, err
}

// rootOf returns the session that a session of a list works for in the end.
func rootOf(info Info, infos []Info) string {
	for range infos { // a circle ends too
		if info.Agent == nil {
			break
		}
		i := slices.IndexFunc(infos, func(o Info) bool { return o.Session == info.Agent.Session })
		if i < 0 {
			break // it is stored under its parent
		}
		info = infos[i]
	}
	return info.Session
}

// questionsOf returns the questions of a session and, if they are stored under it, of its
// sub-agents.
func questionsOf(ctx context.Context, s Store, id string, nested bool) ([]Question, error) {
	a, err := askedIn(ctx, s, id)
	if err != nil {
		return nil, err
	}
	var all []Question
	for _, call := range a.progress.waiting(time.Now()) {
		q := a.asked[call]
		q.Session, q.Call, q.Expires = id, call, a.progress.Expires[call]
		q.Tool, q.Input = a.called(call)
		all = append(all, q)
	}
	for _, w := range a.progress.Agents {
		if !nested || CheckID(w.Session) != nil {
			continue
		}
		below, err := questionsOf(ctx, Under(s, id), w.Session, nested)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		for _, q := range below {
			if q.Session = id; !strings.Contains(q.Call, "/") {
				q.Call, q.Agent = w.Session+"/"+q.Call, w.Agent
			}
			all = append(all, q)
		}
	}
	return all, nil
}

// asked is what a session's facts say about its questions.
type asked struct {
	progress progress
	asked    map[string]Question // by call
	answers  map[int64][]llm.ToolUse
}

// askedIn reads the facts of a session for its questions.
func askedIn(ctx context.Context, s Store, id string) (*asked, error) {
	a := &asked{asked: map[string]Question{}, answers: map[int64][]llm.ToolUse{}}
	var all []node
	for e, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		n := node{prev: e.Prev}
		if step, ok := stepOf(e.Data); ok {
			n.step = &step
		}
		all = append(all, n)
		switch d := e.Data.(type) {
		case event.AssistantMessage:
			a.answers[e.Seq] = d.Response.Message.ToolUses()
		case fact.Authorized:
			a.asked[d.Call] = Question{Text: d.Decision.Reason, Since: e.Time}
		case fact.ToolDone:
			a.asked[d.Call] = Question{Text: joined(d.Result.Questions), Since: e.Time, Questions: d.Result.Questions}
		}
	}
	a.progress = progressOn(all)
	return a, nil
}

// joined returns the texts of a tool's questions.
func joined(questions []tool.Question) string {
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Text)
	}
	return strings.Join(texts, " ")
}

// called returns the tool and the input of a call. Its id is c, the number of the answer's
// fact, a dot and the number of the call in the answer. A part of a batch has one number
// more, and gets the name and the input of the batch.
func (a *asked) called(call string) (name string, input json.RawMessage) {
	seq, rest, _ := strings.Cut(strings.TrimPrefix(call, "c"), ".")
	index, _, _ := strings.Cut(rest, ".")
	answer, err := strconv.ParseInt(seq, 10, 64)
	i, err2 := strconv.Atoi(index)
	if uses := a.answers[answer]; err == nil && err2 == nil && i >= 0 && i < len(uses) {
		return uses[i].Name, uses[i].Input
	}
	return "", nil
}
