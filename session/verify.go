package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
)

// maxShown bounds what a problem quotes of a file, in bytes.
const maxShown = 60

// The kinds of problems.
const (
	problemHeader   = "header"              // cannot be read, or is another session's
	problemVersion  = "version"             // the session is of an older version
	problemTorn     = "torn"                // the last record is not finished
	problemZeros    = "zeros"               // the end is zeros, as a power cut leaves it
	problemChecksum = "checksum"            // a line was altered
	problemFormat   = "format"              // a line is whole and makes no sense
	problemSequence = "sequence"            // facts are missing, repeated or out of order
	problemPrev     = "prev"                // a fact follows none that is there
	problemBlob     = "blob"                // a file with content is missing or was altered
	problemNoResult = "call_without_result" // a call has no result, and facts of later turns follow
	problemNoCall   = "result_without_call"
	problemTwice    = "second_result"
)

// A problem is something that is wrong with a session.
type problem struct {
	Line   int    `json:"line"`          // of the journal, counting from 1
	Seq    int64  `json:"seq,omitempty"` // of the fact, where there is one
	Kind   string `json:"kind"`          // such as "checksum", for a line that was altered
	Text   string `json:"text"`
	Usable bool   `json:"usable,omitempty"` // the session can still be read and opened
}

// errNoFolder is the error for a store of another kind.
var errNoFolder = errors.New("only the sessions of a store that session.Dir has made can be checked and repaired")

// A Report is what [Verify] has found. Its JSON has more of each problem.
type Report struct{ found report }

// Damaged reports whether the session cannot be read or opened as it is.
func (r *Report) Damaged() bool { return r.found.damaged }

// Problems returns what is wrong, a text for each problem that begins with the line of the
// journal, in the order of the lines. A session with problems may be readable, see Damaged.
func (r *Report) Problems() []string {
	var all []string
	for _, p := range r.found.Problems {
		all = append(all, fmt.Sprintf("line %d: %s: %s", p.Line, p.Kind, p.Text))
	}
	return all
}

// MarshalJSON returns the report as the command openagent shows it.
func (r *Report) MarshalJSON() ([]byte, error) { return plainJSON(r.found) }

// plainJSON leaves the escaping of HTML to the encoder that calls it.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

type report struct {
	Session  string    `json:"session"`
	Path     string    `json:"path"` // of the journal
	Lines    int       `json:"lines"`
	Facts    int64     `json:"facts"`              // that can be read
	Problems []problem `json:"problems,omitempty"` // at most 1,000, in the order of the lines
	More     int       `json:"more,omitempty"`     // problems that are not listed
	damaged  bool
}

func (r *report) add(p problem) {
	r.damaged = r.damaged || !p.Usable
	if len(r.Problems) >= maxProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, p)
}

const maxProblems = 1000

// Verify reads all of a session, blobs included, and lists what is wrong with it.
// It changes nothing and takes no lock: what another process is writing just now
// may look unfinished. It fails with [ErrNotFound], with [ErrVersion] for a
// session of a newer version, and where the files cannot be read at all.
func Verify(ctx context.Context, store Store, id string) (*Report, error) {
	d, ok := store.(folderStore)
	if !ok {
		return nil, fmt.Errorf("verifying session %s: %w", id, errNoFolder)
	}
	folder, err := d.existing(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("verifying session: %w", err)
	}
	var out Report
	r := &out.found
	r.Session, r.Path = id, filepath.Join(folder, journalName)
	var calls callCheck
	in, err := d.inspect(ctx, folder, id, r.add, func(line int, e event.Event) {
		r.Facts++
		calls.add(line, e)
	})
	if err != nil {
		return nil, fmt.Errorf("verifying session: %w", err)
	}
	r.Lines = in.line
	calls.check(r.add)
	return &out, nil
}

// callCheck is what must be known of a session's facts to check its conversation.
// None of it stops a session: requests to a model are made legal whatever is on record.
type callCheck struct {
	facts []turn
	at    map[int64]int // index in facts by number
}

type turn struct {
	line      int
	seq, prev int64
	begins    bool   // a prompt
	calls     int    // of an answer
	answer    bool   //
	result    string // the call whose result it is
}

func (t *callCheck) add(line int, e event.Event) {
	f := turn{line: line, seq: e.Seq, prev: e.Prev}
	switch d := e.Data.(type) {
	case event.UserMessage:
		f.begins = d.Delivery == fact.AsPrompt
	case event.AssistantMessage:
		f.answer, f.calls = true, len(d.Response.Message.ToolUses())
	case event.ToolResult:
		f.result = d.Call
	}
	if t.at == nil {
		t.at = map[int64]int{}
	}
	if _, known := t.at[e.Seq]; !known {
		t.at[e.Seq] = len(t.facts)
		t.facts = append(t.facts, f)
	}
}

// path returns the facts that lead to the last one. Where a fact follows one that
// is missing, the nearest before that is taken.
func (t *callCheck) path() []turn {
	var back []turn
	for i := len(t.facts) - 1; i >= 0; {
		f := t.facts[i]
		back = append(back, f)
		k, ok := t.at[f.prev]
		if !ok || k >= i {
			k = i - 1
		}
		i = k
		if f.prev == 0 {
			break
		}
	}
	slices.Reverse(back)
	return back
}

// check finds calls and results that do not belong together.
func (t *callCheck) check(add func(problem)) {
	open := map[string]turn{} // calls without a result, and their answers
	settled := map[string]bool{}
	unanswered := func() {
		for _, call := range slices.Sorted(maps.Keys(open)) {
			f := open[call]
			add(problem{Line: f.line, Seq: f.seq, Kind: problemNoResult, Usable: true, Text: fmt.Sprintf("call %s has no result before the conversation continues", call)})
		}
		clear(open)
	}
	for _, f := range t.path() {
		switch {
		case f.begins || f.answer:
			unanswered()
			for i := range f.calls {
				open[fmt.Sprintf("c%d.%d", f.seq, i)] = f
			}
		case f.result == "" || strings.Count(f.result, ".") > 1: // that of a call in a batch
		case settled[f.result]:
			add(problem{Line: f.line, Seq: f.seq, Kind: problemTwice, Usable: true, Text: fmt.Sprintf("call %s has a result already", f.result)})
		default:
			if _, ok := open[f.result]; !ok {
				add(problem{Line: f.line, Seq: f.seq, Kind: problemNoCall, Usable: true, Text: fmt.Sprintf("there is no open call %s", text.Bytes(f.result, maxShown))})
			}
			delete(open, f.result)
			settled[f.result] = true
		}
	}
}
