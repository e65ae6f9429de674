package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/safefile"
)

// summary is the Info of a session after its first Facts facts, which take up Size bytes of
// its journal.
type summary struct {
	Info
	progress   progress
	configured []byte // data of a fact that was not looked into yet
}

// event takes in the next fact.
func (a *summary) event(e event.Event) {
	a.Facts, a.Updated = e.Seq, e.Time.UTC().Round(0)
	a.progress.event(e)
	switch d := e.Data.(type) {
	case event.UserMessage:
		a.Messages++
		if a.Prompt == "" && d.Delivery == fact.AsPrompt {
			a.Prompt = promptLine(d)
		}
	case event.AssistantMessage, event.ToolResult:
		a.Messages++
	case fact.Configured:
		a.Model, a.configured = d.Model, nil
	case event.ModelChanged:
		a.Model, a.configured = d.Model, nil
	case event.SessionNamed:
		a.Title, a.Tag = d.Title, d.Tag
	}
}

// The names of the facts that matter here.
var (
	typeUser       = event.Type(event.UserMessage{})
	typeConfigured = event.Type(fact.Configured{})
	typeModel      = event.Type(event.ModelChanged{})
	typeNamed      = event.Type(event.SessionNamed{})
	typeAgent      = event.Type(event.AgentStart{})
)

// record takes in the next fact as it is stored. It looks into few facts only.
func (a *summary) record(r *record, load func(hash string, limit int64) ([]byte, error)) {
	look := r.Type == typeNamed || r.Type == typeUser && a.Prompt == ""
	if look {
		if e, err := r.event("", load); err == nil {
			a.event(e)
			return
		}
	}
	a.Facts, a.Updated = r.Seq, r.Time
	a.progress.record(r)
	switch {
	case isMessage(r.Type):
		a.Messages++
	case r.Type == typeConfigured, r.Type == typeModel:
		a.configured = append(a.configured[:0], r.Data...)
	}
}

// info returns the Info so far.
func (a *summary) info() Info {
	if a.configured != nil {
		var c struct{ Model string }
		if json.Unmarshal(a.configured, &c) == nil {
			a.Model = c.Model
		}
		a.configured = nil
	}
	return a.Info
}

// A file beside the journal saves lists the reading of it: it tells what is
// known of the session's first bytes. It says nothing that the journal does not
// say, and is passed over where it is missing, damaged or does not fit.
const (
	summaryName  = "about.json"
	summaryLimit = 64 << 10 // bytes of the file
	summaryEvery = 1 << 20  // bytes of the journal after which an open log writes it again
)

type summaryLine struct {
	Version int `json:"openagent"`
	Info
	Progress *progress `json:"progress,omitempty"` // nil: not known
}

// write stores the summary for lists.
func (a *summary) write(folder string) error {
	line := summaryLine{Version: version, Info: a.info()}
	if line.State = ""; !a.progress.unknown { // the state depends on the lock too
		line.Progress = &a.progress
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	data = data[:len(data)-len("}")]
	if data = appendCRC(data, crc32.Checksum(data, castagnoli)); len(data) > summaryLimit {
		return fmt.Errorf("the summary of the session has %d bytes; the limit is %d", len(data), summaryLimit)
	}
	// The journal is the truth, and the checksum tells a damaged summary.
	r := safefile.Replacement{Temp: summaryName + partEnd, Sync: safefile.SyncNone}
	return r.Bytes(filepath.Join(folder, summaryName), data)
}

// readSummary returns what the file says about the session named id, whose journal
// has size bytes.
func readSummary(folder, id string, size int64) (summary, bool) {
	data, err := readBlob(filepath.Join(folder, summaryName), summaryLimit)
	if err != nil || !sealed(data) {
		return summary{}, false
	}
	var line summaryLine
	if err := json.Unmarshal(data, &line); err != nil || line.Version != version || line.Session != id || line.Size > size {
		return summary{}, false
	}
	a := summary{Info: line.Info, progress: progress{unknown: true}}
	if line.Progress != nil {
		a.progress = *line.Progress
	}
	return a, true
}

// catchUp takes in what was recorded since a was written, up to limit bytes, in a
// journal of the version from.
func (a *summary) catchUp(folder string, journal io.ReaderAt, from int, size, limit int64) error {
	if size-a.Size > limit {
		return errors.New("too much was recorded since the summary was written")
	}
	path := filepath.Join(folder, journalName)
	s := newScanner(path, io.NewSectionReader(journal, a.Size, size-a.Size), 4<<10)
	s.line, s.last, s.end, s.from = int(a.Facts)+1, a.Facts, a.Size, from
	load := func(hash string, limit int64) ([]byte, error) { return loadBlob(folder, hash, limit) }
	for {
		r, err := s.record()
		if err != nil {
			return ignoreEOF(err)
		}
		a.record(&r, load)
	}
}

// Rename gives a session a title; "" takes it away. It fails with
// [ErrNotFound], and with [ErrBusy] while someone writes the session.
func Rename(ctx context.Context, s Store, id, title string) error {
	return name(ctx, s, id, func(n *event.SessionNamed) { n.Title = title })
}

// SetTag gives a session a tag, a word to find it by; "" takes it away. It fails
// as [Rename] does.
func SetTag(ctx context.Context, s Store, id, tag string) error {
	return name(ctx, s, id, func(n *event.SessionNamed) { n.Tag = tag })
}

// Limits of what people call a session, in characters.
const (
	maxTitle = 200
	maxTag   = 60
)

func name(ctx context.Context, s Store, id string, change func(*event.SessionNamed)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("naming session: %w", err)
		}
	}()
	info, err := Stat(ctx, s, id)
	if err != nil {
		return err
	}
	log, err := s.Open(ctx, id, info.Header)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if info, err = Stat(ctx, s, id); err != nil { // now nobody changes it
		return err
	}
	n := event.SessionNamed{Title: info.Title, Tag: info.Tag}
	change(&n)
	if n, err = Named(n.Title, n.Tag); err != nil {
		return err
	}
	last := log.Last()
	e := event.Event{Seq: last + 1, Prev: last, Time: time.Now().UTC(), Session: id, Data: n}
	return log.Append(ctx, last, true, e)
}

// Named returns the fact that a session has a title and a tag from now on. It
// fails where one is more than a line, or longer than 200 and 60 characters.
func Named(title, tag string) (n event.SessionNamed, err error) {
	if n.Title, err = oneLine("title", title, maxTitle); err != nil {
		return n, err
	}
	n.Tag, err = oneLine("tag", tag, maxTag)
	return n, err
}

// oneLine returns text without space around it, or an error if it is too long or
// has more than one line.
func oneLine(what, text string, most int) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text), strings.ContainsFunc(text, unicode.IsControl):
		return "", fmt.Errorf("the %s must be one line of text", what)
	case utf8.RuneCountInString(text) > most:
		return "", fmt.Errorf("the %s has more than %d characters", what, most)
	}
	return text, nil
}
