package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
)

// A Memory keeps what a person has typed in a folder of files that only they can read:
//
//	history.jsonl     the messages, oldest first, a JSON string on each line
//	draft-*.txt       the text that a program has not sent; its lock tells that the program lives
//
// Several programs may use one folder.
type Memory struct {
	dir   string
	lock  safefile.File // of the draft; nil: there is no draft yet
	draft string        // path of the draft; "": none
	lines int           // of the history
	bytes int           // likewise
}

const (
	historyName = "history.jsonl"
	maxEntries  = 1000     // that are offered
	maxKept     = 8 << 20  // bytes of them; the history has at most twice as many
	maxMemory   = 64 << 20 // bytes of a file
)

// NewMemory returns the memory in a folder, which need not exist.
func NewMemory(dir string) *Memory { return &Memory{dir: dir} }

// Load returns the history, and the newest text that a program left without sending it. What
// cannot be read is absent.
func (m *Memory) Load() (entries []string, draft string) {
	data, err := plainfile.ReadFile(filepath.Join(m.dir, historyName), maxMemory)
	if err == nil {
		entries = parse(data)
		m.lines, m.bytes = bytes.Count(data, []byte("\n")), len(data)
	}
	return newest(entries), m.leftDraft()
}

// parse reads the lines of a history. A line that a crash has cut is left out.
func parse(data []byte) (entries []string) {
	for line := range bytes.Lines(data) {
		var text string
		if json.Unmarshal(line, &text) == nil && text != "" {
			entries = append(entries, text)
		}
	}
	return entries
}

// newest returns the messages that are worth keeping.
func newest(entries []string) []string {
	from, size := len(entries), 0
	for from > 0 && len(entries)-from < maxEntries {
		if size += len(entries[from-1]); size > maxKept {
			break
		}
		from--
	}
	return entries[from:]
}

// Remember appends a message to the history.
func (m *Memory) Remember(text string) error {
	if err := m.folder(); err != nil {
		return err
	}
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	path := filepath.Join(m.dir, historyName)
	f, err := plainfile.Append(path)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	err = errors.Join(err, f.Close())
	m.lines, m.bytes = m.lines+1, m.bytes+len(line)+1
	if err == nil && (m.lines > 2*maxEntries || m.bytes > 2*maxKept) {
		err = m.shorten(path)
	}
	return err
}

// shorten drops the oldest messages.
func (m *Memory) shorten(path string) error {
	data, err := plainfile.ReadFile(path, maxMemory)
	if err != nil {
		return os.Remove(path) // it has grown out of hand
	}
	entries := newest(parse(data))
	var b bytes.Buffer
	for _, text := range entries {
		line, err := json.Marshal(text)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	m.lines, m.bytes = len(entries), b.Len()
	return safefile.Replacement{Sync: safefile.SyncNone}.Bytes(path, b.Bytes())
}

// SaveDraft keeps a text that was not sent yet. "" removes it.
func (m *Memory) SaveDraft(text string) error {
	if text == "" {
		return m.dropDraft()
	}
	if m.draft == "" {
		if err := m.folder(); err != nil {
			return err
		}
		name := filepath.Join(m.dir, fmt.Sprintf("draft-%d-%d", os.Getpid(), time.Now().UnixNano()))
		f, err := safefile.Open(name+".lock", os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		if ok, err := safefile.TryLock(f, safefile.Exclusive); !ok || err != nil {
			return errors.Join(err, f.Close())
		}
		m.lock, m.draft = f, name+".txt"
	}
	return safefile.Replacement{Sync: safefile.SyncNone}.Bytes(m.draft, []byte(text))
}

// dropDraft removes the draft of this program.
func (m *Memory) dropDraft() error {
	if m.draft == "" {
		return nil
	}
	err := os.Remove(m.draft)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, m.lock.Close(), os.Remove(m.lock.Name()))
	m.lock, m.draft = nil, ""
	return err
}

// Close lets the next program offer the draft.
func (m *Memory) Close() error {
	if m.lock == nil {
		return nil
	}
	err := m.lock.Close()
	m.lock, m.draft = nil, ""
	return err
}

// leftDraft returns the newest draft whose program has ended, and removes it: the text is in
// the input of this program now, which keeps it.
func (m *Memory) leftDraft() string {
	names, err := filepath.Glob(filepath.Join(m.dir, "draft-*.lock"))
	if err != nil {
		return ""
	}
	last, when := "", time.Time{}
	for _, lock := range names {
		path := strings.TrimSuffix(lock, ".lock") + ".txt"
		if info, err := os.Lstat(path); err != nil || info.ModTime().After(when) {
			if !free(lock) {
				continue
			}
			if err != nil { // there is no text to it
				os.Remove(lock)
				continue
			}
			last, when = path, info.ModTime()
		}
	}
	if last == "" {
		return ""
	}
	data, err := plainfile.ReadFile(last, maxMemory)
	if err != nil {
		return ""
	}
	text := strings.ToValidUTF8(string(data), "\ufffd")
	if m.SaveDraft(text) != nil {
		return text
	}
	os.Remove(last)
	os.Remove(strings.TrimSuffix(last, ".txt") + ".lock")
	return text
}

// free reports whether the program that locked a file has ended.
func free(name string) bool {
	f, err := safefile.Open(name, os.O_RDWR)
	if err != nil {
		return false
	}
	defer f.Close()
	ok, err := safefile.TryLock(f, safefile.Exclusive)
	return ok && err == nil
}

func (m *Memory) folder() error { return os.MkdirAll(m.dir, 0o700) }
