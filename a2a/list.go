package a2aagent

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

const (
	maxListed    = 100     // contexts that a list looks at, the ones changed last
	maxListBytes = 4 << 20 // of a page of a list, unless its first task is larger
)

// states are the states of the protocol.
var states = []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
	a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected}

// A listed is a task in a list.
type listed struct {
	place
	updated time.Time
	state   a2a.TaskState
}

// before reports whether a comes before b: the task changed last is the first.
func (a listed) before(b listed) int {
	return cmp.Or(b.updated.Compare(a.updated), cmp.Compare(b.session, a.session), cmp.Compare(b.seq, a.seq))
}

// ListTasks implements [a2asrv.RequestHandler].
func (o *operations) ListTasks(ctx context.Context, in *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	c, err := o.caller(ctx)
	if err != nil {
		return nil, err
	}
	if c.request.Method == http.MethodGet {
		if err := readQuery(in, c.request.URL.Query()); err != nil {
			return nil, err
		}
	}
	size := cmp.Or(in.PageSize, 50)
	if size < 1 || size > 100 {
		return nil, invalid("pageSize must be from 1 to 100")
	}
	if err := checkHistory(in.HistoryLength); err != nil {
		return nil, err
	}
	if in.Status != "" && !slices.Contains(states, in.Status) {
		return nil, invalid("there is no such status")
	}
	after, err := tokenOf(in.PageToken)
	if err != nil {
		return nil, err
	}
	all, err := c.all(ctx, in)
	if err != nil {
		return nil, protocolError(ctx, err)
	}
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: len(all)}
	if in.PageToken != "" {
		all = slices.DeleteFunc(all, func(l listed) bool { return l.before(after) <= 0 })
	}
	bytes := 0
	for i, l := range all {
		if len(out.Tasks) == size {
			out.NextPageToken = all[i-1].token()
			break
		}
		t, err := c.read(ctx, l.place)
		if errors.Is(err, a2a.ErrTaskNotFound) { // its session was deleted meanwhile
			continue
		}
		if err != nil {
			return nil, protocolError(ctx, err)
		}
		if bytes += t.size(); len(out.Tasks) > 0 && bytes > maxListBytes {
			out.NextPageToken = all[i-1].token()
			break
		}
		one, err := c.shown(ctx, t, in.HistoryLength)
		if err != nil {
			return nil, err
		}
		if !in.IncludeArtifacts {
			one.Artifacts = nil
		}
		out.Tasks = append(out.Tasks, one)
	}
	out.PageSize = len(out.Tasks) // as the conformance suite has it
	return out, nil
}

// readQuery reads the parameters of a list that the REST transport of the SDK (v2.3.1) leaves out.
func readQuery(in *a2a.ListTasksRequest, q url.Values) error {
	if v := q.Get("historyLength"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return invalid("historyLength must be a number")
		}
		in.HistoryLength = &n
	}
	if v := q.Get("statusTimestampAfter"); v != "" {
		at, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return invalid("statusTimestampAfter must be a time such as 2006-01-02T15:04:05Z")
		}
		in.StatusTimestampAfter = &at
	}
	return nil
}

// all returns the tasks that a list asks for, in order.
func (c *caller) all(ctx context.Context, in *a2a.ListTasksRequest) (out []listed, err error) {
	var ids []string
	if in.ContextID != "" {
		if session.CheckID(in.ContextID) != nil {
			return nil, nil
		}
		ids = append(ids, in.ContextID)
	} else {
		var list struct {
			Sessions []struct{ Session string }
		}
		if err := c.do(ctx, http.MethodGet, "/v1/sessions?limit="+strconv.Itoa(maxListed), nil, &list); err != nil {
			return nil, err
		}
		for _, s := range list.Sessions {
			ids = append(ids, s.Session)
		}
	}
	for _, id := range ids {
		tasks, err := c.inSession(ctx, id)
		if isCode(err, "not_found") {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, l := range tasks {
			if (in.Status == "" || in.Status == l.state) && (in.StatusTimestampAfter == nil || !l.updated.Before(*in.StatusTimestampAfter)) {
				out = append(out, l)
			}
		}
	}
	slices.SortFunc(out, listed.before)
	return out, nil
}

// inSession returns the tasks of a session.
func (c *caller) inSession(ctx context.Context, id string) (out []listed, err error) {
	var t *task
	add := func(asked []question) {
		if t != nil {
			out = append(out, listed{t.place, t.updated, t.status(asked).State})
		}
	}
	for e, err := range c.facts(ctx, id, 0, "") {
		if err != nil {
			return nil, err
		}
		if t != nil && t.apply(e) {
			continue
		}
		if d, ok := e.Data.(event.UserMessage); ok && isPrompt(d) {
			add(nil)
			t = &task{place: place{id, e.Seq}}
			t.apply(e)
		}
	}
	if t == nil {
		return nil, nil
	}
	var asked []question
	if !t.ended() {
		if asked, err = c.pending(ctx, id); err != nil {
			return nil, err
		}
	}
	add(asked)
	return out, nil
}

// token names the place of a task in a list, for the next page.
func (l listed) token() string {
	return strconv.FormatInt(l.updated.UnixNano(), 36) + "." + string(l.taskID())
}

// tokenOf reads the place in a list.
func tokenOf(token string) (l listed, err error) {
	if token == "" {
		return l, nil
	}
	at, id, _ := strings.Cut(token, ".")
	nano, err := strconv.ParseInt(at, 36, 64)
	p, ok := placeOf(a2a.TaskID(id))
	if err != nil || !ok {
		return l, invalid("the pageToken is not valid")
	}
	return listed{place: p, updated: time.Unix(0, nano)}, nil
}
