package turns

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// Encode writes JSON without escapes that only HTML needs.
func Encode(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return []byte(strings.TrimSuffix(b.String(), "\n")), err
}

// Clock is how times are shown: those of this machine, with their zone, because a page may be
// read anywhere.
func Clock(t time.Time) string {
	t = t.Local()
	if _, offset := t.Zone(); offset == 0 {
		return t.Format("2006-01-02 15:04:05 UTC")
	}
	return t.Format("2006-01-02 15:04:05 -07:00")
}

// Diff returns the diff that a tool has left of a file's change, "" where it has none.
func (r *Result) Diff() string { return r.diff }

// State tells how the call ended: "ok", "error", "denied", or "none" while it has not.
func (c Call) State() string {
	switch {
	case c.Result == nil:
		return "none"
	case c.Result.Cause == fact.ByDenial:
		return "denied"
	case c.Result.IsError:
		return "error"
	}
	return "ok"
}

// Took is how a command ended and how long the call lasted, "" if it did not run.
func (c Call) Took() string {
	var parts []string
	if c.Exit != 0 {
		parts = append(parts, fmt.Sprintf("exit %d", c.Exit))
	}
	if c.Result != nil && c.Result.DurationMS > 0 {
		parts = append(parts, Span(time.Duration(c.Result.DurationMS)*time.Millisecond))
	}
	return strings.Join(parts, " · ")
}

// Indent writes JSON for people.
func Indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// IsDiff reports whether text is a unified diff.
func IsDiff(text string) bool {
	return strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ") && strings.Contains(text, "\n@@") || strings.HasPrefix(text, "diff --git ")
}

// An Entry is a line of the outline: a prompt.
type Entry struct {
	Seq  int64
	Text string
}

// Outline lists the latest prompts of a view, up to most of them, and says how many come before. A view
// with one prompt has no outline.
func (r *Reader) Outline(items []*view.Item, most int) (list []Entry, before int) {
	var all []*view.Item
	for _, it := range items {
		if p, ok := it.Data.(*view.Prompt); ok && p.Delivered && p.FromUser() {
			all = append(all, it)
		}
	}
	if len(all) < 2 {
		return nil, 0
	}
	before = max(0, len(all)-most)
	for _, it := range all[before:] {
		line := text.Runes(r.Line(it.Data.(*view.Prompt).Message.Message.Text()), 100)
		list = append(list, Entry{it.Seq, cmp.Or(line, "(no text)")})
	}
	return list, before
}

// Todos returns the list of steps, without secrets.
func (r *Reader) Todos(v *view.State) []view.Todo {
	list := slices.Clone(v.Todos)
	for i := range list {
		list[i].Text, list[i].Status = r.Line(list[i].Text), r.Line(list[i].Status)
	}
	return list
}
