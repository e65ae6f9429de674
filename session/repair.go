package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/history"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A Repaired is the report of [Repair]. Its JSON has the damage, and counts the facts.
type Repaired struct {
	Backup string // the damaged journal; "": nothing had to be repaired

	done repaired
}

// MarshalJSON returns the report as the command openagent shows it.
func (r *Repaired) MarshalJSON() ([]byte, error) { return plainJSON(r.done) }

type repaired struct {
	Before    report `json:"before"`           // the damage
	Kept      int64  `json:"kept"`             // facts that are as they were
	Rewritten int64  `json:"rewritten"`        // facts made from the journal after the first gap
	Backup    string `json:"backup,omitempty"` // the damaged journal; "": nothing had to be repaired
}

// Repair makes a damaged session whole. The journal is kept, untouched, as
// journal.jsonl.damaged-<time>; in its place comes one with every fact up to the first that
// is missing. Later messages of the user, the model and the tools are added as new facts; a
// missing result is replaced by one that says so. A lost content is replaced by a text that
// says so. Repairing again does nothing. It fails with [ErrBusy] while someone
// writes the session, with [ErrVersion] for a session of a newer version, and as [Verify]
// does.
func Repair(ctx context.Context, store Store, id string) (*Repaired, error) {
	d, ok := store.(folderStore)
	if !ok {
		return nil, fmt.Errorf("repairing session %s: %w", id, errNoFolder)
	}
	r, err := d.repair(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("repairing session: %w", err)
	}
	return &Repaired{Backup: r.Backup, done: *r}, nil
}

func (d folderStore) repair(ctx context.Context, id string) (_ *repaired, err error) {
	folder, err := d.existing(ctx, id)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(filepath.Join(folder, lockName))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	r := &repaired{Before: report{Session: id, Path: filepath.Join(folder, journalName)}}
	var left recovery
	var calls callCheck
	in, err := d.inspect(ctx, folder, id, r.Before.add, func(line int, e event.Event) {
		r.Before.Facts++
		calls.add(line, e)
		left.facts = append(left.facts, e)
	})
	if err != nil {
		return nil, err
	}
	r.Before.Lines = in.line
	calls.check(r.Before.add)
	if !r.Before.damaged {
		r.Kept = r.Before.Facts
		return r, nil
	}
	left.sort()
	header := in.header
	if !in.whole {
		header = left.header(id, r.Before.Path)
	}
	facts, kept := left.whole(id, header.Dir)
	r.Kept, r.Rewritten = kept, int64(len(facts))-kept
	r.Backup, err = asideName(folder)
	if err != nil {
		return nil, err
	}
	return r, rewrite(folder, header, filepath.Base(r.Backup), each(facts))
}

// asideName returns a name for the damaged journal that is free.
func asideName(folder string) (string, error) {
	name := filepath.Join(folder, journalName+".damaged-"+time.Now().UTC().Format("20060102T150405Z"))
	for n := 2; n < 100; n++ {
		if _, err := safefile.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name, nil
		}
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return "", fmt.Errorf("%s and the names before it exist already; remove some of them", name)
}

func each(facts []event.Event) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range facts {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// A recovery holds the readable parts of a damaged session.
type recovery struct {
	facts []event.Event
}

// sort orders the facts by number. Of several with one number the first stays.
func (s *recovery) sort() {
	slices.SortStableFunc(s.facts, func(a, b event.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	s.facts = slices.CompactFunc(s.facts, func(a, b event.Event) bool { return a.Seq == b.Seq })
}

// header makes a header where the old one is lost.
func (s *recovery) header(id, path string) Header {
	h := Header{Session: id}
	for _, e := range s.facts {
		if c, ok := e.Data.(fact.Configured); ok {
			h.Dir = c.Dir
			break
		}
	}
	if len(s.facts) > 0 {
		h.Created = s.facts[0].Time
	} else if info, err := safefile.Stat(path); err == nil {
		h.Created = info.ModTime()
	}
	h.Created = created(h.Created)
	return h
}

// whole returns facts without a gap: those before the first gap, whose numbers are kept,
// and new facts made of the others.
func (s *recovery) whole(id, dir string) (facts []event.Event, kept int64) {
	for kept < int64(len(s.facts)) && s.facts[kept].Seq == kept+1 {
		kept++
	}
	facts, rest := s.facts[:kept:kept], s.facts[kept:]
	if len(rest) == 0 {
		return facts, kept
	}
	past, after := s.path(kept)
	var turns []history.Turn
	results := map[string]tool.Result{}
	uses := map[string]string{} // the model's ids of calls, by ours
	model, name := "", event.SessionNamed{}
	for _, e := range s.facts {
		switch d := e.Data.(type) {
		case fact.Configured:
			model = d.Model
		case event.SessionNamed:
			name = d
		}
	}
	for _, e := range after {
		switch d := e.Data.(type) {
		case event.UserMessage:
			if d.Delivery != fact.AsContinue {
				turns = append(turns, history.Turn{ID: d.ID, Time: e.Time, Message: d.Message})
			}
		case event.AssistantMessage:
			for i, u := range d.Response.Message.ToolUses() {
				uses[fmt.Sprintf("c%d.%d", e.Seq, i)] = u.ID
			}
			turns = append(turns, history.Turn{Time: e.Time, Message: d.Response.Message, Model: d.Model, Usage: d.Response.Usage, CostUSD: d.CostUSD})
		case event.ToolResult:
			if use, ok := uses[d.Call]; ok {
				block := llm.ToolResult{ID: use, Content: d.Result.Content, IsError: d.Result.IsError}
				turns = append(turns, history.Turn{Time: e.Time, Message: llm.Message{Role: llm.User, Content: llm.Blocks{block}}})
			} else {
				results[d.Call] = d.Result
			}
		}
	}
	w := history.NewWriter(id, past, kept, results)
	w.Write(turns, model, dir)
	facts = append(facts, w.Facts()...)
	if name != (event.SessionNamed{}) {
		n := int64(len(facts))
		facts = append(facts, event.Event{Seq: n + 1, Prev: n, Time: rest[len(rest)-1].Time, Session: id, Data: name})
	}
	return facts, kept
}

// path returns the facts that lead to the last one: those up to number kept, and
// those after.
func (s *recovery) path(kept int64) (past, after []event.Event) {
	var back []event.Event
	for i := len(s.facts) - 1; i >= 0; {
		e := s.facts[i]
		back = append(back, e)
		if e.Prev == 0 {
			break
		}
		// Where the fact before is missing, the nearest before that is taken.
		k, found := slices.BinarySearchFunc(s.facts, e.Prev, func(e event.Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
		if !found {
			k--
		}
		i = k
	}
	slices.Reverse(back)
	n := 0
	for n < len(back) && back[n].Seq <= kept {
		n++
	}
	return back[:n], back[n:]
}
