package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/safefile"
)

// How much of a journal is read for a list, in bytes.
const (
	headSize = 256 << 10
	tailSize = 4 << 20
)

// List implements [Store]. It reads the summary beside each journal, and the facts since.
// Without a summary it reads short journals, and the beginning and the end of long ones:
// their title, tag, model and number of messages are then unknown until the session is
// opened again. Folders that are not sessions are skipped; a damaged session is listed if
// its header is whole.
func (d folderStore) List(ctx context.Context) ([]Info, error) {
	list, err := d.list(ctx)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	sortByUpdate(list)
	return list, nil
}

func (d folderStore) list(ctx context.Context) ([]Info, error) {
	if d.Path == "" {
		return nil, errNoPath
	}
	entries, err := safefile.ReadDir(d.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found := make([]*Info, len(entries))
	inParallel(len(entries), func(i int) {
		e := entries[i]
		if ctx.Err() != nil || !e.IsDir() || CheckID(e.Name()) != nil {
			return
		}
		if info, err := d.stat(filepath.Join(d.Path, e.Name()), e.Name()); err == nil {
			found[i] = &info
		}
	})
	var list []Info
	for _, info := range found {
		if info != nil {
			list = append(list, *info)
		}
	}
	return list, nil
}

// IDs returns the ids of all sessions, sorted, those included that are too
// damaged to be listed.
func (d folderStore) IDs(ctx context.Context) ([]string, error) {
	if d.Path == "" {
		return nil, fmt.Errorf("listing sessions: %w", errNoPath)
	}
	entries, err := safefile.ReadDir(d.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if !e.IsDir() || CheckID(e.Name()) != nil {
			continue
		}
		if _, err := d.existing(ctx, e.Name()); err == nil {
			ids = append(ids, e.Name())
		} else if ctx.Err() != nil {
			return nil, fmt.Errorf("listing sessions: %w", ctx.Err())
		}
	}
	return ids, nil
}

// Stat returns the Info of one session. It fails with [ErrNotFound], and with a
// [ErrCorrupt] if the header cannot be read.
func (d folderStore) Stat(ctx context.Context, id string) (Info, error) {
	folder, err := d.existing(ctx, id)
	if err != nil {
		return Info{}, err
	}
	info, err := d.stat(folder, id)
	if err == io.EOF || err == errTorn {
		err = notFound(id) // it has no header: nothing was ever recorded
	}
	return info, err
}

func (d folderStore) stat(folder, id string) (Info, error) {
	path := filepath.Join(folder, journalName)
	if file, err := safefile.Lstat(path); err == nil && file.Mode().IsRegular() {
		if a, ok := readSummary(folder, id, file.Size()); ok && a.Size == file.Size() && !a.progress.unknown {
			return d.told(&a, folder), nil
		}
	}
	return d.statJournal(folder, id, path)
}

// statJournal is stat for a session whose summary does not tell everything.
func (d folderStore) statJournal(folder, id, path string) (Info, error) {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	file, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	if a, ok := readSummary(folder, id, file.Size()); ok && a.catchUp(folder, f, version, file.Size(), tailSize) == nil {
		a.Size = file.Size()
		if a.progress.unknown && a.derive(path, f) {
			a.save(folder)
		}
		return d.told(&a, folder), nil
	}
	s := newScanner(path, io.NewSectionReader(f, 0, headSize), 4<<10)
	header, err := s.header(id)
	if err != nil && (!errors.Is(err, ErrVersion) || header.Session != id) {
		return Info{}, err
	}
	info := Info{Header: header, Updated: header.Created, Size: file.Size()}
	if a := (summary{Info: info}); err == nil && file.Size() <= tailSize {
		a.Size = s.end
		if a.catchUp(folder, f, s.from, file.Size(), tailSize) == nil {
			a.Size = file.Size()
			if a.progress.unknown {
				a.derive(path, f)
			}
			return d.told(&a, folder), nil
		}
	}
	if err == nil {
		info.Prompt = d.firstPrompt(s, folder)
	}
	switch r, err := lastRecord(f, file.Size()); {
	case err != nil:
		info.Updated = file.ModTime().UTC()
	case r.Seq > 0:
		info.Facts, info.Updated = r.Seq, r.Time
	}
	a := summary{Info: info, progress: progress{unknown: true}}
	a.derive(path, f)
	return d.told(&a, folder), nil
}

// told returns the Info of a session with its state.
func (d folderStore) told(a *summary, folder string) Info {
	info := a.info()
	if a.progress.unknown {
		return info
	}
	held := func() bool { return held(filepath.Join(folder, lockName)) }
	info.State = a.progress.state(held, func(agent string) bool {
		below, err := d.stat(filepath.Join(folder, agentsName, agent), agent)
		return err == nil && below.State == StateWaiting
	})
	return info
}

// derive reads a journal for its progress. It reports whether that was possible.
func (a *summary) derive(path string, journal io.ReaderAt) bool {
	p, err := readProgress(newScanner(path, io.NewSectionReader(journal, 0, math.MaxInt64), 64<<10), a.Session)
	if err == nil {
		a.progress = p
	}
	return err == nil
}

// save writes the summary, so that the journal is not read again. It leaves a session alone
// that someone writes.
func (a *summary) save(folder string) {
	f, err := safefile.Open(filepath.Join(folder, lockName), os.O_RDWR)
	if err != nil {
		return
	}
	defer f.Close()
	if ok, err := safefile.TryLock(f, safefile.Exclusive); !ok || err != nil {
		return
	}
	_ = a.write(folder) // the journal is the truth
	_ = safefile.Unlock(f)
}

// firstPrompt goes through the first facts to the first prompt.
func (d folderStore) firstPrompt(s *scanner, folder string) string {
	load := func(hash string, limit int64) ([]byte, error) { return loadBlob(folder, hash, limit) }
	for {
		r, err := s.record()
		if err != nil {
			return ""
		}
		if r.Type != event.Type(event.UserMessage{}) {
			continue
		}
		e, err := r.event("", load)
		if err != nil {
			return ""
		}
		if m, ok := e.Data.(event.UserMessage); ok && m.Delivery == fact.AsPrompt {
			return promptLine(m)
		}
	}
}

// lastRecord returns the last whole record of a journal, which may be followed
// by an unfinished one. It is zero where there is only the header.
func lastRecord(f io.ReaderAt, size int64) (record, error) {
	for window := int64(4 << 10); ; window *= 8 {
		window = min(window, size, tailSize)
		tail := make([]byte, window)
		if _, err := f.ReadAt(tail, size-window); err != nil && err != io.EOF {
			return record{}, err
		}
		line, whole := lastLine(tail, window == size)
		if line != nil {
			var r record
			err := json.Unmarshal(line, &r)
			return r, err
		}
		if whole || window == size || window == tailSize {
			return record{}, errors.New("the end of the journal is damaged")
		}
	}
}

// lastLine returns the last good line of tail, if it is one of the last two. The second
// result tells whether both were there to look at; start, whether tail is the whole file.
func lastLine(tail []byte, start bool) (line []byte, both bool) {
	for range 2 {
		end := bytes.LastIndexByte(tail, '\n')
		if end < 0 {
			return nil, start
		}
		begin := bytes.LastIndexByte(tail[:end], '\n') + 1
		if begin == 0 && !start {
			return nil, false
		}
		if sealed(tail[begin:end]) {
			return tail[begin:end], true
		}
		tail = tail[:begin]
	}
	return nil, true
}
