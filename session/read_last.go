package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safefile"
)

// Last returns the last n facts of a session whose type keep wants, oldest first; a nil
// keep wants all. Of a [LastReader], such as [Dir] and [Memory], it reads only
// the end of the session. It fails like [Store].Read does.
func Last(ctx context.Context, s Store, id string, n int, keep func(typ string) bool) ([]event.Event, error) {
	if s, ok := s.(LastReader); ok {
		return s.Last(ctx, id, n, keep)
	}
	var last []event.Event
	for e, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if keep == nil || keep(event.Type(e.Data)) {
			last = append(last, e)
		}
	}
	return last[max(0, len(last)-max(n, 0)):], nil
}

// isMessage selects the facts of the conversation: messages of the user, the model and the
// tools.
func isMessage(typ string) bool {
	return typ == "user_message" || typ == "assistant_message" || typ == "tool_result"
}

// Last implements [LastReader].
func (d folderStore) Last(ctx context.Context, id string, n int, keep func(typ string) bool) ([]event.Event, error) {
	last, err := d.backward(ctx, id, n, anywhere(keep))
	if err != nil {
		return nil, fmt.Errorf("reading session: %w", err)
	}
	return last, nil
}

// anywhere wants the facts whose type keep wants, all where that is nil.
func anywhere(keep func(typ string) bool) func(seq, prev int64, typ string) bool {
	return func(_, _ int64, typ string) bool { return keep == nil || keep(typ) }
}

func (d folderStore) backward(ctx context.Context, id string, n int, want func(seq, prev int64, typ string) bool) ([]event.Event, error) {
	last, err := d.fromEnd(ctx, id, n, want)
	slices.Reverse(last)
	return last, err
}

// fromEnd is backward with the last fact first.
func (d folderStore) fromEnd(ctx context.Context, id string, n int, want func(seq, prev int64, typ string) bool) ([]event.Event, error) {
	folder, err := d.existing(ctx, id)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, journalName)
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	load := func(hash string, limit int64) ([]byte, error) { return loadBlob(folder, hash, limit) }
	s := newScanner(path, io.NewSectionReader(f, 0, info.Size()), 4<<10)
	if _, err := s.header(id); err != nil {
		return nil, ignoreEOF(err)
	}
	lines := backwards{file: f, end: info.Size()}
	var last []event.Event
	for due := int64(0); len(last) < n; {
		line, finished, err := lines.next()
		switch {
		case err == io.EOF:
			return last, nil
		case err != nil:
			return nil, err
		case !finished && tornLine(line, false):
			continue // it is being written, or a crash left it unfinished
		case !finished || !sealed(line):
			return nil, d.damaged(ctx, id)
		}
		var head struct{ Seq int64 }
		if err := json.Unmarshal(line, &head); err != nil {
			return nil, err
		}
		if head.Seq == 0 { // the header
			return last, nil
		}
		r, err := parseRecord(line, head.Seq)
		if err == nil && due != 0 && head.Seq != due {
			err = fmt.Errorf("it holds fact %d where fact %d is due", head.Seq, due)
		}
		if err != nil {
			return nil, &corruptError{path: path, line: int(head.Seq) + 1, err: err}
		}
		due = r.Seq - 1
		if err := r.migrate(s.from); err != nil {
			return nil, &corruptError{path: path, line: int(r.Seq) + 1, err: err}
		}
		if !want(r.Seq, r.Prev, r.Type) {
			continue
		}
		e, err := r.event(id, load)
		if err != nil {
			return nil, &corruptError{path: path, line: int(r.Seq) + 1, err: err}
		}
		last = append(last, e)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// damaged returns the error for the first damaged line of a journal, counted from its
// beginning.
func (d folderStore) damaged(ctx context.Context, id string) error {
	for _, err := range d.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
	}
	return errChecksum
}

// backwards reads the lines of a file from its end.
type backwards struct {
	file   io.ReaderAt
	end    int64  // of the unread part
	buffer []byte // read and not yet returned: ends with the next line to return
}

const backwardsStep = 64 << 10

// begin returns where the line that was returned last begins; first, the end of the file.
func (b *backwards) begin() int64 { return b.end + int64(len(b.buffer)) }

// next returns the line before, without its newline, and whether it had one.
func (b *backwards) next() (line []byte, finished bool, err error) {
	for {
		body := bytes.TrimSuffix(b.buffer, []byte("\n"))
		if i := bytes.LastIndexByte(body, '\n'); i >= 0 || b.end == 0 && len(b.buffer) > 0 {
			line, finished = bytes.CutSuffix(b.buffer[i+1:], []byte("\n"))
			b.buffer = b.buffer[:i+1]
			return line, finished, nil
		}
		if b.end == 0 {
			return nil, false, io.EOF
		}
		if len(b.buffer) > maxLine {
			return nil, false, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
		step := min(b.end, max(backwardsStep, int64(len(b.buffer))))
		grown := make([]byte, step, step+int64(len(b.buffer)))
		if _, err := b.file.ReadAt(grown, b.end-step); err != nil && err != io.EOF {
			return nil, false, err
		}
		b.buffer, b.end = append(grown, b.buffer...), b.end-step
	}
}

// Last implements [LastReader].
func (m *memoryStore) Last(ctx context.Context, id string, n int, keep func(typ string) bool) ([]event.Event, error) {
	last, err := m.backward(ctx, id, n, anywhere(keep))
	if err != nil {
		return nil, fmt.Errorf("reading session: %w", err)
	}
	return last, nil
}

func (m *memoryStore) backward(ctx context.Context, id string, n int, want func(seq, prev int64, typ string) bool) ([]event.Event, error) {
	m.mu.Lock()
	s, err := m.find(id)
	var facts chunks
	if err == nil {
		facts = s.facts
	}
	m.mu.Unlock()
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	var last []event.Event
	for e := range facts.backward() {
		if len(last) >= n {
			break
		}
		if want(e.Seq, e.Prev, event.Type(e.Data)) {
			last = append(last, e)
		}
	}
	slices.Reverse(last)
	return last, nil
}
