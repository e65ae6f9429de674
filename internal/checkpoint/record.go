package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/safefile"
)

const (
	recordVersion = 1
	maxRecord     = 16 << 20 // bytes
	recordEnd     = ".json"
)

// A saved checkpoint is the first line of its file; the second line is the SHA-256 of the
// first.
type saved struct {
	Version int `json:"version"`
	Checkpoint
}

// A point names a checkpoint.
type point struct{ session, id string }

var idForm = regexp.MustCompile(`^[0-9a-f]{16}-[0-9a-f]{8}$`)

// newID returns an id that says the time first, in microseconds.
func newID(t time.Time) string { return fmt.Sprintf("%016x-%s", t.UnixMicro(), random(8)) }

func idTime(id string) time.Time {
	micro, _ := strconv.ParseInt(id[:16], 16, 64) // the form is known
	return time.UnixMicro(micro)
}

// sessionFolder is the folder of a session's checkpoints. Any text is a session.
func sessionFolder(session string) []string {
	x := sha256.Sum256([]byte(session))
	return []string{"sessions", hex.EncodeToString(x[:16])}
}

func checkSession(session string) error {
	if session == "" || !utf8.ValidString(session) {
		return fmt.Errorf("%q is not a valid session id", session)
	}
	return nil
}

// record gives c an id and a time and lists it.
func (s *Store) record(c *Checkpoint) error {
	now, err := s.now(c.Session)
	if err != nil {
		return err
	}
	c.ID, c.Time = newID(now), now.UTC()
	return s.saveRecord(*c)
}

func (s *Store) saveRecord(c Checkpoint) error {
	var data bytes.Buffer
	enc := json.NewEncoder(&data) // ends the line
	enc.SetEscapeHTML(false)
	if err := enc.Encode(saved{recordVersion, c}); err != nil {
		return fmt.Errorf("encoding the checkpoint: %w", err)
	}
	x := sha256.Sum256(data.Bytes())
	data.WriteString(hex.EncodeToString(x[:]) + "\n")
	if err := s.save(data.Bytes(), append(sessionFolder(c.Session), c.ID+recordEnd)...); err != nil {
		return fmt.Errorf("storing the checkpoint: %w", err)
	}
	return nil
}

// ids returns the ids of a session's checkpoints, oldest first.
func (s *Store) ids(session string) ([]string, error) {
	return s.idsIn(sessionFolder(session))
}

func (s *Store) idsIn(dir []string) (ids []string, err error) {
	names, err := safefile.ReadDir(s.path(dir...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing checkpoints: %w", err)
	}
	for _, e := range names {
		if id, ok := strings.CutSuffix(e.Name(), recordEnd); ok && idForm.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// loadRecord reads a checkpoint. It fails with ErrNotFound, ErrVersion or a
// *CorruptError.
func (s *Store) loadRecord(dir []string, id string) (Checkpoint, error) {
	name := append(slices.Clone(dir), id+recordEnd)
	data, err := s.read(maxRecord, name...)
	if errors.Is(err, fs.ErrNotExist) {
		return Checkpoint{}, fmt.Errorf("%w: %s in %s; it was dropped, or the session was at work on another machine", ErrNotFound, id, s.Dir)
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("reading a checkpoint: %w", err)
	}
	corrupt := func(text string) (Checkpoint, error) {
		return Checkpoint{}, &CorruptError{s.path(name...), errors.New(text)}
	}
	i := bytes.IndexByte(data, '\n') + 1
	x := sha256.Sum256(data[:i])
	if string(data[i:]) != hex.EncodeToString(x[:])+"\n" {
		return corrupt("the checksum is wrong")
	}
	var version struct{ Version int }
	if err := json.Unmarshal(data[:i], &version); err != nil {
		return corrupt(err.Error())
	}
	if version.Version > recordVersion {
		return Checkpoint{}, fmt.Errorf("%w: %s", ErrVersion, id)
	}
	var c saved
	if err := json.Unmarshal(data[:i], &c); err != nil {
		return corrupt(err.Error())
	}
	if c.ID != id || !slices.Equal(sessionFolder(c.Session), dir) {
		return corrupt("it is of another session or id")
	}
	for _, t := range c.Trees {
		if _, err := parseSum(t.Hash); err != nil || !filepath.IsAbs(t.Root) {
			return corrupt("it has no tree")
		}
	}
	return c.Checkpoint, nil
}

// Find returns a checkpoint. It fails with ErrNotFound, ErrVersion or a
// [*CorruptError].
func (s *Store) Find(ctx context.Context, session, id string) (Checkpoint, error) {
	if err := ctx.Err(); err != nil {
		return Checkpoint{}, err
	}
	if !idForm.MatchString(id) {
		return Checkpoint{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return s.loadRecord(sessionFolder(session), id)
}

// List returns the checkpoints of a session, oldest first. Those that cannot be
// read are passed over: see [Store.Verify].
func (s *Store) List(ctx context.Context, session string) (list []Checkpoint, err error) {
	ids, err := s.ids(session)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		c, err := s.Find(ctx, session, id)
		_, corrupt := errors.AsType[*CorruptError](err)
		switch {
		case corrupt, errors.Is(err, ErrNotFound), errors.Is(err, ErrVersion):
			continue
		case err != nil:
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// Fork gives the session to the checkpoints of the session from whose Seq is at
// most through, with their ids; 0 means all. No content is copied.
func (s *Store) Fork(ctx context.Context, from, to string, through int64) error {
	if err := checkSession(to); err != nil {
		return fmt.Errorf("forking checkpoints: %w", err)
	}
	if s.absent() {
		return nil
	}
	l, err := s.acquire(ctx, safefile.Shared, "lock")
	if err != nil {
		return err
	}
	defer l.release()
	list, err := s.List(ctx, from)
	if err != nil {
		return err
	}
	for _, c := range list {
		if through != 0 && c.Seq > through {
			continue
		}
		c.Session = to
		if err := s.addUsage(recordSize(c)); err != nil {
			return err
		}
		if err := s.saveRecord(c); err != nil {
			return fmt.Errorf("forking checkpoints: %w", err)
		}
	}
	return nil
}

// Drop removes the checkpoints of sessions, and the content that no other checkpoint needs.
func (s *Store) Drop(ctx context.Context, sessions ...string) error {
	if len(sessions) == 0 || s.absent() {
		return nil
	}
	l, err := s.acquire(ctx, safefile.Exclusive, "lock")
	if err != nil {
		return err
	}
	defer l.release()
	for _, session := range sessions {
		if err := safefile.RemoveAll(s.path(sessionFolder(session)...)); err != nil {
			return fmt.Errorf("removing checkpoints: %w", err)
		}
	}
	_, err = s.sweep(ctx, s.quota(), point{})
	return err
}

// Sessions returns the names of the sessions that have checkpoints, sorted. It
// fails with ErrVersion where a checkpoint is of a newer version.
func (s *Store) Sessions(ctx context.Context) ([]string, error) {
	list, _, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Session
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// records returns all readable checkpoints, newest first, and the errors of the others.
func (s *Store) records(ctx context.Context) (list []Checkpoint, broken []Damage, err error) {
	dirs, err := safefile.ReadDir(s.path("sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("listing checkpoints: %w", err)
	}
	for _, d := range dirs {
		dir := []string{"sessions", d.Name()}
		ids, err := s.idsIn(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, id := range ids {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			c, err := s.loadRecord(dir, id)
			corrupt, ok := errors.AsType[*CorruptError](err)
			switch {
			case ok:
				broken = append(broken, Damage{File: corrupt.File, Problem: corrupt.Err.Error()})
			case errors.Is(err, ErrNotFound): // dropped just now
			case err != nil:
				return nil, nil, err
			default:
				list = append(list, c)
			}
		}
	}
	slices.SortFunc(list, func(a, b Checkpoint) int {
		return cmp.Or(strings.Compare(b.ID, a.ID), strings.Compare(a.Session, b.Session))
	})
	return list, broken, nil
}
