package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A session in use is named through its own log: before the first prompt, during a run,
// after it, and after a rewind.
func TestSetTitle(t *testing.T) {
	store := session.Dir(t.TempDir())
	var s *agent.Session
	a := &agent.Agent{Sessions: store, Permissions: bypass, Dir: t.TempDir(), Model: llmtest.Script(uses("write"), say("done")),
		Tools: []tool.Tool{write(func(ctx context.Context, _ tool.Call, _ int) (*tool.Result, error) {
			return tool.Text("ok"), s.SetTitle(ctx, " while it runs ")
		})}}
	s = a.Session("s")
	defer s.Close()
	is := func(title, tag string) {
		t.Helper()
		info, err := session.Stat(t.Context(), store, "s")
		if err != nil || info.Title != title || info.Tag != tag {
			t.Errorf("%q, %q: %+v, %v", title, tag, info, err)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(s.SetTag(t.Context(), "urgent"))
	is("", "urgent")
	_, err := s.Prompt(t.Context(), "go")
	check(err)
	is("while it runs", "urgent")
	check(s.Rewind(t.Context(), 1))
	check(s.SetTag(t.Context(), ""))
	is("while it runs", "")
	for _, bad := range []string{"two\nlines", strings.Repeat("x", 201)} {
		if err := s.SetTitle(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "title") {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if err := session.Rename(t.Context(), store, "s", "x"); !errors.Is(err, session.ErrBusy) {
		t.Error(err)
	}
	check(s.Close())
	if err := s.SetTitle(t.Context(), "x"); !errors.Is(err, agent.ErrClosed) {
		t.Error(err)
	}
	s = a.Session("s")
	check(s.SetTitle(t.Context(), "anew"))
	is("anew", "")
	check(s.Close())
}

// The order of a resume: which session, a copy of it, from where.
func TestContinueForkTruncate(t *testing.T) {
	store := session.Dir(t.TempDir())
	a := &agent.Agent{Sessions: store, Dir: t.TempDir(), Model: llmtest.Script(say("older"), say("1"), say("2"), say("in the copy"))}
	var answers []int64
	for _, id := range []string{"older", "newer", "newer"} {
		s := a.Session(id)
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Data.(event.AssistantMessage); ok {
				answers = append(answers, e.Seq)
			}
		}
		s.Close()
	}
	latest, err := session.Latest(t.Context(), store)
	if err != nil || latest.Session != "newer" {
		t.Fatal(latest, err)
	}
	from := a.Session(latest.Session)
	defer from.Close()
	fork, err := from.Fork(t.Context(), answers[1])
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	if res, err := fork.Prompt(t.Context(), "go"); err != nil || res.Text != "in the copy" {
		t.Fatal(res, err)
	}
	var said []string
	for _, s := range []*agent.Session{from, fork} {
		ms, err := s.Messages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			said = append(said, m.Text())
		}
		said = append(said, ";")
	}
	if got := strings.Join(said, " "); got != "go 1 go 2 ; go 1 go in the copy ;" {
		t.Error(got)
	}
}
