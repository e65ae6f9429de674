package sessiontest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

func named(t *testing.T, s session.Store) {
	write(t, s, "s", Prompts(3)...)
	if err := session.Rename(t.Context(), s, "s", " A title "); err != nil {
		t.Fatal(err)
	}
	if err := session.SetTag(t.Context(), s, "s", "urgent"); err != nil {
		t.Fatal(err)
	}
	is := func(id, title, tag string) session.Info {
		t.Helper()
		info, err := session.Stat(t.Context(), s, id)
		if err != nil || info.Title != title || info.Tag != tag || info.Prompt != "prompt 1" {
			t.Errorf("%s has title %q, tag %q, prompt %q, %v; want %q and %q", id, info.Title, info.Tag, info.Prompt, err, title, tag)
		}
		return info
	}
	before := is("s", "A title", "urgent")

	log := opened(t, s, "s") // both survive later appends
	last := log.Last()
	for range 300 {
		last++
		if err := log.Append(t.Context(), last-1, false, event.Event{Seq: last, Prev: last - 1, Time: start, Data: prompt(strings.Repeat("x", 3000))}); err != nil {
			t.Fatal(err)
		}
	}
	isErr(t, "renaming a session in use", session.Rename(t.Context(), s, "s", "x"), session.ErrBusy)
	is("s", "A title", "urgent")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	after := is("s", "A title", "urgent")
	if !after.Created.Equal(before.Created) {
		t.Errorf("the session was created at %v, and now at %v", before.Created, after.Created)
	}
	if after.Messages != 303 || after.Facts != 305 {
		t.Errorf("%d messages in %d facts, want 303 in 305", after.Messages, after.Facts)
	}
	if err := session.Fork(t.Context(), s, "s", "copy", 0); err != nil {
		t.Fatal(err)
	}
	is("copy", "A title", "urgent")
	if err := session.SetTag(t.Context(), s, "s", ""); err != nil {
		t.Fatal(err)
	}
	is("s", "A title", "")
	is("copy", "A title", "urgent")

	isErr(t, "renaming none", session.Rename(t.Context(), s, "none", "x"), session.ErrNotFound)
	isErr(t, "tagging an illegal id", session.SetTag(t.Context(), s, "../s", "x"), session.ErrBadID)
	for _, bad := range []string{"two\nlines", "\x1b[31m", strings.Repeat("é", 201), "\xff"} {
		if err := session.Rename(t.Context(), s, "s", bad); err == nil {
			t.Errorf("the title %q was taken", bad)
		}
	}
	is("s", "A title", "")
	if list := infos(t, s); len(list) != 2 {
		t.Errorf("%d sessions, want 2", len(list))
	}
}

func pages(t *testing.T, s session.Store) {
	use := llm.ToolUse{ID: "u", Name: "Read", Input: []byte(`{}`)}
	facts := list(
		fact.Configured{Model: "m"}, // 1
		prompt("one"),
		event.AssistantMessage{Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{use}}}},
		event.ToolStart{Call: "c3.0"},
		event.ToolResult{Call: "c3.0", Result: *tool.Text("r")}, // 5
		event.RunEnd{},
		prompt("rewound"),
		event.RunEnd{},
		event.Rewound{}, // 9, after 6
		prompt("two"),
		event.RunEnd{},
	)
	facts[8].Prev = 6
	write(t, s, "s", facts...)
	for _, test := range []struct {
		limit, offset int
		want          []int64
	}{
		{0, -1, []int64{2, 3, 5, 10}}, {0, 0, []int64{2, 3, 5, 10}}, {2, -1, []int64{5, 10}}, {100, -1, []int64{2, 3, 5, 10}},
		{2, 0, []int64{2, 3}}, {2, 1, []int64{3, 5}}, {2, 3, []int64{10}}, {2, 4, nil}, {2, 99, nil}, {0, 2, []int64{5, 10}}, {1, -1, []int64{10}},
	} {
		got, err := session.Load(t.Context(), s, "s", test.limit, test.offset)
		if err != nil {
			t.Fatal(err)
		}
		var want []event.Event
		for _, seq := range test.want {
			want = append(want, facts[seq-1])
		}
		same(t, "s", got, want)
	}
	write(t, s, "empty")
	if got, err := session.Load(t.Context(), s, "empty", 5, -1); err != nil || len(got) != 0 {
		t.Errorf("an empty session has %d messages, %v", len(got), err)
	}
	for _, offset := range []int{-1, 0} {
		_, err := session.Load(t.Context(), s, "none", 5, offset)
		isErr(t, "loading none", err, session.ErrNotFound)
	}
}

func searched(t *testing.T, s session.Store) {
	write(t, s, "old", list(prompt("where is the Needle\n of it?"), event.ToolResult{Call: "c", Result: *tool.Text(strings.Repeat("hay ", 50) + "a NEEDLE  of" + strings.Repeat(" hay", 50))})...)
	use := llm.ToolUse{ID: "u", Name: "Grep", Input: []byte(`{"pattern":"needle of"}`)}
	late := list(prompt("nothing"), prompt("else"), prompt("here"), event.AssistantMessage{Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{use}}}})
	write(t, s, "new", late...)
	odd := event.UserMessage{Message: llm.Message{Role: llm.User, Content: llm.Blocks{llm.Text{Text: "100 \u212aelvin, <ärger>, a \"quoted\\ word"},
		llm.Document{MediaType: "text/plain", Data: []byte("It is in the file.")}}}}
	write(t, s, "odd", list(odd)...)
	find := func(query string, o session.SearchOptions) []string {
		t.Helper()
		var found []string
		for h, err := range session.Search(t.Context(), s, query, o) {
			if err != nil {
				t.Fatal(err)
			}
			if words := h.Snippet[h.At : h.At+h.Length]; !strings.EqualFold(words, text.OneLine(query)) {
				t.Errorf("%q was found for %q", words, query)
			}
			if len(h.Snippet) > 200 || strings.ContainsAny(h.Snippet, "\n") {
				t.Errorf("snippet %q", h.Snippet)
			}
			found = append(found, h.Session.Session+" "+h.Type)
		}
		return found
	}
	for _, test := range []struct {
		query string
		o     session.SearchOptions
		want  string
	}{
		{"needle of", session.SearchOptions{}, "new assistant_message,old user_message,old tool_result"},
		{"  NEEDLE\tof ", session.SearchOptions{}, "new assistant_message,old user_message,old tool_result"},
		{"needle", session.SearchOptions{Each: 1}, "new assistant_message,old user_message"},
		{"needle", session.SearchOptions{Limit: 1}, "new assistant_message"},
		{"needle", session.SearchOptions{Limit: 2}, "new assistant_message,old user_message"},
		{"needle", session.SearchOptions{Match: func(i session.Info) bool { return i.Session == "old" }}, "old user_message,old tool_result"},
		{"n.edle", session.SearchOptions{}, ""},
		{"100 kelvin", session.SearchOptions{}, "odd user_message"},
		{"a \"quoted\\", session.SearchOptions{}, "odd user_message"},
		{"in the file", session.SearchOptions{}, "odd user_message"},
		{"<ÄRGER>", session.SearchOptions{}, "odd user_message"},
	} {
		if got := strings.Join(find(test.query, test.o), ","); got != test.want {
			t.Errorf("%q %+v: found %s, want %s", test.query, test.o, got, test.want)
		}
	}
	if err := session.Rename(t.Context(), s, "old", "Réunion"); err != nil {
		t.Fatal(err)
	}
	if got := find("RÉUNION", session.SearchOptions{}); len(got) != 1 {
		t.Errorf("found by title: %q", got)
	}
	for _, bad := range []string{"", " \n", strings.Repeat("x", 2000), "\xff"} {
		for _, err := range session.Search(t.Context(), s, bad, session.SearchOptions{}) {
			if err == nil {
				t.Errorf("a search for %q finds something", bad)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, last := 0, error(nil)
	for _, err := range session.Search(ctx, s, "needle", session.SearchOptions{}) {
		n++
		last = err
		cancel()
	}
	if n != 2 || !errors.Is(last, context.Canceled) {
		t.Errorf("a cancelled search: %d results, the last error %v", n, last)
	}
}
