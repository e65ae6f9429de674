package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safefile"
)

// An inspector reads a journal to its end, even if it is damaged.
type inspector struct {
	folder string
	id     string
	in     *bufio.Reader
	line   int // number of the line read last
	from   int // version
	header Header
	whole  bool  // the header could be read
	last   int64 // the highest number of a fact so far

	problem func(problem)
	fact    func(line int, e event.Event)
}

// inspect calls problem and fact for the problems and facts of a session's journal. It
// fails only if the file cannot be read, or has another version: with [ErrVersion].
func (d folderStore) inspect(ctx context.Context, folder, id string, problem func(problem), fact func(int, event.Event)) (*inspector, error) {
	f, err := safefile.Open(filepath.Join(folder, journalName), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := &inspector{folder: folder, id: id, from: version, problem: problem, fact: fact,
		in: bufio.NewReaderSize(io.NewSectionReader(f, 0, math.MaxInt64), 64<<10)}
	for {
		if err := ctx.Err(); err != nil {
			return in, err
		}
		line, finished, err := in.next()
		if err == io.EOF {
			return in, nil
		}
		if err != nil {
			return in, err
		}
		if in.line == 1 {
			if done, err := in.first(line, finished); done || err != nil {
				if err != nil {
					return in, err
				}
				continue
			}
		}
		in.take(line, finished)
	}
}

// errLong is met at a line that no program of ours has written.
var errLong = fmt.Errorf("it is longer than %d bytes", maxLine)

// next returns the next line without its newline, and whether it had one. Of a
// line that is too long it returns nothing.
func (in *inspector) next() (line []byte, finished bool, err error) {
	long := false
	for {
		part, err := in.in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return nil, false, err
		case err == io.EOF && len(line) == 0 && !long:
			return nil, false, io.EOF
		}
		in.line++
		if long {
			in.found(problemFormat, 0, false, "%v", errLong)
			return nil, true, nil
		}
		line, finished = bytes.CutSuffix(line, []byte("\n"))
		return line, finished, nil
	}
}

func (in *inspector) found(kind string, seq int64, usable bool, format string, args ...any) {
	in.problem(problem{Line: in.line, Seq: seq, Kind: kind, Usable: usable, Text: fmt.Sprintf(format, args...)})
}

// first reads the header. It reports false for a line that may be something else.
func (in *inspector) first(line []byte, finished bool) (bool, error) {
	if !finished && tornLine(line, true) {
		in.whole = true // nothing was ever recorded: the session starts from nothing
		in.header = Header{Session: in.id}
		in.found(problemTorn, 0, true, "the header is not finished: the session is as if it had not begun")
		return true, nil
	}
	h, from, err := parseHeader(line)
	switch {
	case errors.Is(err, ErrVersion):
		return true, err
	case err != nil || !sealed(line):
		if err == nil {
			err = errChecksum
		}
		in.found(problemHeader, 0, false, "the header cannot be read: %v", err)
		return false, nil
	case h.Session != in.id:
		in.found(problemHeader, 0, false, "the header is that of session %q", h.Session)
		return true, nil
	}
	in.header, in.from, in.whole = h, from, true
	if from < version {
		in.found(problemVersion, 0, true, "the session is of version %d: it is brought to version %d when it is opened", from, version)
	}
	return true, nil
}

// take looks for facts in a line.
func (in *inspector) take(line []byte, finished bool) {
	if finished && sealed(line) {
		in.record(line)
		return
	}
	if in.line == 1 {
		return // a header, which was spoken of
	}
	switch {
	case !finished && len(bytes.Trim(line, "\x00")) == 0:
		in.found(problemZeros, 0, true, "%d zero bytes are at the end: they are cut off when the session is opened", len(line))
		return
	case !finished && tornLine(line, false):
		in.found(problemTorn, 0, true, "the last record is not finished: its %d bytes are cut off when the session is opened", len(line))
		return
	}
	in.found(problemChecksum, 0, false, "%v", errChecksum)
	const tries = 20 // bytes of a hostile line that are searched for facts
	for range tries {
		i := bytes.Index(line, []byte(recordBegin))
		if i < 0 {
			return
		}
		line = line[i:]
		if n := wholeRecord(line); n > 0 {
			in.record(line[:n])
			line = line[n:]
		} else {
			line = line[1:]
		}
	}
}

// record reads a whole record.
func (in *inspector) record(line []byte) {
	r, err := anyRecord(line)
	if err == nil {
		err = r.migrate(in.from)
	}
	if err != nil {
		in.found(problemFormat, r.Seq, false, "the record cannot be read: %v", err)
		return
	}
	switch due := in.last + 1; {
	case r.Seq < 1:
		in.found(problemSequence, r.Seq, false, "a fact cannot be number %d", r.Seq)
		return
	case r.Seq == due+1:
		in.found(problemSequence, r.Seq, false, "fact %d is missing before it", due)
	case r.Seq > due:
		in.found(problemSequence, r.Seq, false, "facts %d to %d are missing before it", due, r.Seq-1)
	case r.Seq < due:
		in.found(problemSequence, r.Seq, false, "it comes after fact %d", in.last)
	}
	in.last = max(in.last, r.Seq)
	if r.Prev < 0 || r.Prev >= r.Seq {
		in.found(problemPrev, r.Seq, false, "it cannot follow fact %d", r.Prev)
		r.Prev = r.Seq - 1
	}
	if e, ok := in.event(&r); ok {
		in.fact(in.line, e)
	}
}

// event reads the fact of a record and replaces lost content if possible.
func (in *inspector) event(r *record) (event.Event, bool) {
	for _, member := range blobNames(r) {
		_, err := loadBlob(in.folder, r.Blobs[member], maxLine)
		if err == nil {
			continue
		}
		in.found(problemBlob, r.Seq, false, "blob %s, the %q of this %s, is lost: %v", r.Blobs[member], member, r.Type, err)
		if !r.replace(member) {
			return event.Event{}, false
		}
	}
	e, err := r.event(in.id, func(hash string, limit int64) ([]byte, error) { return loadBlob(in.folder, hash, limit) })
	if err != nil {
		in.found(problemFormat, r.Seq, false, "the fact cannot be read: %v", err)
		return event.Event{}, false
	}
	return e, true
}

// blobNames returns the members that are blobs, sorted.
func blobNames(r *record) []string {
	var names []string
	for name := range r.Blobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The texts in place of lost content, by type of fact and member. Other members are left
// out.
const (
	lostResult  = `{"content":[{"type":"text","text":"(The content of this result is lost.)"}],"is_error":true}`
	lostMessage = `{"role":"user","content":[{"type":"text","text":"(The content of this message is lost.)"}]}`
)

// replace puts something in the place of a member whose blob is lost. It reports
// false where the fact is nothing without it.
func (r *record) replace(member string) bool {
	put := ""
	switch r.Type + "." + member {
	case "tool_result.result", "tool_done.result", "tool_amended.result":
		put = lostResult
	case "user_message.message":
		put = lostMessage
	case "assistant_message.response", "authorized.decision", "answered.decision":
		return false
	}
	blobs := make(map[string]string, len(r.Blobs))
	for name, hash := range r.Blobs {
		if name != member {
			blobs[name] = hash
		}
	}
	r.Blobs = blobs
	if put == "" {
		return true
	}
	data, ok := bytes.CutSuffix(r.Data, []byte("}"))
	if !ok {
		return false
	}
	key, err := json.Marshal(member)
	if err != nil {
		return false
	}
	data = bytes.Clone(data)
	if len(data) > 1 {
		data = append(data, ',')
	}
	r.Data = fmt.Appendf(data, "%s:%s}", key, put)
	return true
}
