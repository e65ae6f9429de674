// Package transcript reads the sessions of the Open Agent SDK for Swift, each of
// them a file
//
//	~/.open-agent-sdk/sessions/<id>/transcript.json
//	{"metadata": {"id", "cwd", "model", "createdAt", "updatedAt", "summary", "tag", "gitBranch", …}, "messages": […]}
//
// with messages as Anthropic's API has them. Nothing in a file is trusted.
package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/history"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// Name is what the files are called.
const Name = "transcript.json"

// Limits of what is read.
const (
	maxBytes    = 64 << 20 // of a file
	maxMessages = 100_000
	maxFiles    = 100_000 // that are looked at in a folder
	maxWord     = 1000    // bytes of a field of the metadata
)

// A Transcript is what a file says.
type Transcript struct {
	ID      string
	Dir     string // the working directory; "" where it is not an absolute path
	Model   string
	Title   string // the summary
	Tag     string
	Branch  string
	Created time.Time
	Updated time.Time
	Turns   []history.Turn
	Skipped int // blocks of content of which nothing is known
}

// Find returns the files to read for a path: itself, or for a folder those in it
// and in the folders in it, sorted. Links are not followed.
func Find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("finding transcripts: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("finding transcripts: %w", err)
	}
	var found []string
	for _, e := range entries[:min(len(entries), maxFiles)] {
		name := filepath.Join(path, e.Name())
		if e.IsDir() {
			name = filepath.Join(name, Name)
		} else if e.Name() != Name {
			continue
		}
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found, nil
}

// Open reads the file of the given name, of at most 64 MB and 100,000 messages. One
// that does not say when it was begun is as old as the file.
func Open(name string) (*Transcript, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("reading transcript: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading transcript %s: it is not a regular file", name)
	}
	f, err := plainfile.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading transcript: %w", err)
	}
	defer f.Close()
	t, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("reading transcript %s: %w", name, err)
	}
	if t.ID == "" && filepath.Base(name) == Name {
		t.ID = filepath.Base(filepath.Dir(name))
	}
	if err := session.CheckID(t.ID); err != nil {
		return nil, fmt.Errorf("reading transcript %s: %w", name, err)
	}
	if t.Created.IsZero() { // else it would be the oldest of all sessions, and pruned as such
		t.date(sane(info.ModTime()))
	}
	return t, nil
}

// Read reads the content of a file.
func Read(r io.Reader) (*Transcript, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	var file struct {
		Metadata struct {
			ID, Cwd, Model, Summary, Tag, GitBranch string
			CreatedAt, UpdatedAt                    stamp
		}
		Messages []message
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if len(file.Messages) > maxMessages {
		return nil, fmt.Errorf("it has %d messages; the limit is %d", len(file.Messages), maxMessages)
	}
	m := file.Metadata
	t := &Transcript{ID: m.ID, Dir: word(m.Cwd), Model: word(m.Model), Title: word(m.Summary), Tag: word(m.Tag), Branch: word(m.GitBranch),
		Created: m.CreatedAt.Time, Updated: m.UpdatedAt.Time}
	if !filepath.IsAbs(t.Dir) {
		t.Dir = ""
	}
	for _, m := range file.Messages {
		turn, skipped := m.turn()
		t.Skipped += skipped
		t.Turns = append(t.Turns, turn)
	}
	t.date(t.Created)
	return t, nil
}

// date says when the transcript was begun: all that is known of its messages but
// the last one.
func (t *Transcript) date(created time.Time) {
	t.Created = created
	if t.Updated.Before(created) {
		t.Updated = created
	}
	for i := range t.Turns {
		t.Turns[i].Time = created
	}
	if n := len(t.Turns); n > 0 {
		t.Turns[n-1].Time = t.Updated
	}
}

// word returns a field of the metadata in one line and of a sane length.
func word(s string) string {
	s = text.OneLine(s)
	if len(s) > maxWord {
		s = strings.ToValidUTF8(s[:maxWord], "")
	}
	return s
}

// Store makes a session of the transcript. It fails with [session.ErrExists] where
// there is one with its id, and leaves no session behind when it fails.
func (t *Transcript) Store(ctx context.Context, s session.Store) error {
	w := history.NewWriter(t.ID, nil, 0, nil)
	w.Write(t.Turns, t.Model, t.Dir)
	facts := w.Facts()
	if t.Title != "" || t.Tag != "" {
		n := int64(len(facts))
		named := event.SessionNamed{Title: text.Runes(t.Title, 200), Tag: text.Runes(t.Tag, 60)}
		facts = append(facts, event.Event{Seq: n + 1, Prev: n, Time: t.Updated, Session: t.ID, Data: named})
	}
	header := session.Header{Session: t.ID, Created: t.Created, Dir: t.Dir, Branch: t.Branch}
	if err := session.Create(ctx, s, header, facts); err != nil {
		return fmt.Errorf("importing %s: %w", t.ID, err)
	}
	return nil
}

// A stamp is a time in any of the ways in which Swift writes one: a string, or
// seconds since 2001.
type stamp struct{ time.Time }

var reference = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// UnmarshalJSON takes what it does not know as no time at all.
func (s *stamp) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			s.Time = sane(at)
		}
		return nil
	}
	var seconds float64
	if json.Unmarshal(b, &seconds) == nil && seconds > 0 && seconds < 1e10 {
		s.Time = sane(reference.Add(time.Duration(min(seconds, 9e9) * float64(time.Second))))
	}
	return nil
}

// sane returns a time that can be written, else none.
func sane(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1970 || t.Year() > 9998 {
		return time.Time{}
	}
	return t
}

// A message is one of Anthropic's API.
type message struct {
	Role    llm.Role
	Content content
}

// A content is a string or a list of blocks.
type content []block

func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		*c = content{{}}
		return nil
	}
	for _, raw := range list {
		var one block
		if json.Unmarshal(raw, &one) != nil {
			one = block{}
		}
		*c = append(*c, one)
	}
	return nil
}

type block struct {
	Type, Text, Thinking, Signature, Data string
	ID, Name                              string
	Input                                 json.RawMessage
	ToolUseID                             string          `json:"tool_use_id"`
	Content                               json.RawMessage // of a result; read no deeper than that
	IsError                               bool            `json:"is_error"`
	Source                                struct {
		Type      string
		MediaType string `json:"media_type"`
		Data      []byte
	}
}

// turn returns the message as ours, and how many blocks it does not know.
func (m message) turn() (history.Turn, int) {
	role := llm.User
	if m.Role == llm.Assistant {
		role = llm.Assistant
	}
	blocks, skipped := m.Content.blocks(true)
	return history.Turn{Message: llm.Message{Role: role, Content: blocks}}, skipped
}

// blocks returns the content as ours; results of tools are only in that of messages.
func (c content) blocks(results bool) (list llm.Blocks, skipped int) {
	for _, b := range c {
		switch {
		case b.Type == "text":
			list = append(list, llm.Text{Text: b.Text})
		case b.Type == "thinking" && results:
			list = append(list, llm.Thinking{Text: b.Thinking, Signature: b.Signature})
		case b.Type == "redacted_thinking" && results:
			list = append(list, llm.RedactedThinking{Data: b.Data})
		case b.Type == "tool_use" && results:
			list = append(list, llm.ToolUse{ID: b.ID, Name: b.Name, Input: b.Input})
		case b.Type == "tool_result" && results:
			var inner content
			if len(b.Content) > 0 {
				_ = inner.UnmarshalJSON(b.Content) // what it is not is skipped
			}
			said, n := inner.blocks(false)
			skipped += n
			list = append(list, llm.ToolResult{ID: b.ToolUseID, Content: said, IsError: b.IsError})
		case b.Type == "image" && b.Source.Type == "base64":
			list = append(list, llm.Image{MediaType: b.Source.MediaType, Data: b.Source.Data})
		case b.Type == "document" && b.Source.Type == "base64":
			list = append(list, llm.Document{MediaType: b.Source.MediaType, Data: b.Source.Data})
		default:
			skipped++
		}
	}
	return list, skipped
}
