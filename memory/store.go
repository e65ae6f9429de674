package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

const (
	indexName = "INDEX.md"
	lockName  = ".lock"
	// maxEntries bounds what one folder holds, and so the time to read it.
	maxEntries = 2_000
	lockWait   = 10 * time.Second // if the context has no deadline
)

// ErrUnknown means that a store has no entry of an id.
var ErrUnknown = errors.New("there is no such entry")

// A Store is a folder of entries. Several processes may read and change it at the same time.
// Each change is on record in the file .changes.jsonl of the folder, and can be undone.
type Store struct {
	// Trust, unless nil, keeps the files that may reach prompts. Set it for the folder of a
	// project, in which others may put files. An active entry that it does not know counts
	// as a candidate. Nil: all files are trusted.
	Trust Trust

	root, folder string
	now          func() time.Time
}

// A Trust remembers contents of files. Its methods may be called at the same time.
type Trust interface {
	// Trusted reports whether a file was added with this content.
	Trusted(path string, content []byte) bool
	// Add is called before the file of an active entry gets its content.
	Add(path string, content []byte) error
}

// Open returns the store of a folder below root, such as [ProjectFolder] below a project. The
// folder is made by the first change. It must not be a symlink, nor be in one below root.
func Open(root, folder string) *Store {
	return &Store{root: root, folder: filepath.FromSlash(folder), now: time.Now}
}

// Path returns the path of the folder.
func (s *Store) Path() string { return filepath.Join(s.root, s.folder) }

// File returns the path of an entry's file.
func (s *Store) File(id string) string { return filepath.Join(s.Path(), id+".md") }

// straight returns an error if the folder, or one above it below root, is not a real folder. A
// repository could otherwise have the store write somewhere else.
func (s *Store) straight() error {
	if !filepath.IsLocal(s.folder) {
		return fmt.Errorf("the folder of the memory, %s, is not below %s", s.folder, s.root)
	}
	path := s.root
	for part := range strings.SplitSeq(s.folder, string(filepath.Separator)) {
		path = filepath.Join(path, part)
		switch info, err := safefile.Lstat(path); {
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("the memory is not used, because %s is not a folder but a link or a file; put a folder in its place", path)
		}
	}
	return nil
}

// Entries returns all entries, ordered by id. problems are files that cannot be read as entries:
// they are left alone. A folder that does not exist has no entries.
func (s *Store) Entries() (entries []*Entry, problems []error, err error) {
	if err := s.straight(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, nil, err
	}
	files, err := safefile.ReadDir(s.Path())
	if err != nil {
		return nil, nil, fmt.Errorf("listing the memory: %w", err)
	}
	for _, f := range files {
		id, is := strings.CutSuffix(f.Name(), ".md")
		if !is || f.Name() == indexName || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		if len(entries) == maxEntries {
			problems = append(problems, fmt.Errorf("%s has more than %d entries; delete some that are retired", s.Path(), maxEntries))
			break
		}
		e, err := s.read(id)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", s.File(id), err))
			continue
		}
		entries = append(entries, e)
	}
	return entries, problems, nil
}

// read reads one entry.
func (s *Store) read(id string) (*Entry, error) {
	if !validID.MatchString(id) {
		return nil, errors.New("the name of an entry is made of lower-case letters, digits and hyphens; rename the file")
	}
	data, err := readFile(s.File(id), maxFile)
	if err != nil {
		return nil, err
	}
	e, err := parse(id, data)
	if err == nil {
		s.judge(e, data)
	}
	return e, err
}

// judge makes a candidate of an active entry that nobody here has accepted.
func (s *Store) judge(e *Entry, data []byte) {
	if e.State == Active && (s.Trust != nil && !s.Trust.Trusted(s.File(e.ID), data) || Suspicious(e.Title+"\n"+e.Text) != "") {
		e.State = Candidate
	}
}

// Entry returns one entry, or an error that matches [ErrUnknown].
func (s *Store) Entry(id string) (*Entry, error) {
	data, err := s.content(id)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, fmt.Errorf("entry %q: %w", id, ErrUnknown)
	}
	e, err := parse(id, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.File(id), err)
	}
	s.judge(e, data)
	return e, nil
}

// readFile reads a regular file of limit bytes at most. It follows no link.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes; make it smaller", path, limit)
	}
	return data, nil
}

// content returns the file of an entry, nil if there is none.
func (s *Store) content(id string) ([]byte, error) {
	if !validID.MatchString(id) {
		return nil, fmt.Errorf("entry %q: %w", id, ErrUnknown)
	}
	if err := s.straight(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	data, err := readFile(s.File(id), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// locked calls do while no other process changes the store.
func (s *Store) locked(ctx context.Context, do func() error) (err error) {
	if !filepath.IsLocal(s.folder) {
		return s.straight()
	}
	path := s.root
	for part := range strings.SplitSeq(s.folder, string(filepath.Separator)) {
		path = filepath.Join(path, part)
		if err := safefile.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the folder of the memory: %w", err)
		}
	}
	if err := s.straight(); err != nil {
		return err
	}
	if _, some := ctx.Deadline(); !some {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, lockWait)
		defer stop()
	}
	unlock, err := safefile.Lock(ctx, filepath.Join(path, lockName))
	if err != nil {
		return fmt.Errorf("locking the memory in %s, which another process may be changing: %w", path, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return do()
}

// syncParents syncs the names of the memory's folder and of its parents up to root.
func (s *Store) syncParents() (err error) {
	for path := s.Path(); path != filepath.Clean(s.root); path = filepath.Dir(path) {
		err = errors.Join(err, safefile.SyncFolder(filepath.Dir(path)))
	}
	return err
}

// put replaces the file of an entry, or removes it.
func (s *Store) put(name string, data []byte) error {
	path := filepath.Join(s.Path(), name)
	if data == nil {
		if err := safefile.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return safefile.SyncFolder(s.Path())
	}
	return safefile.Replacement{Mode: 0o644, Temp: safefile.TempName(path)}.Bytes(path, data)
}

// writeIndex brings the file for people up to date.
func (s *Store) writeIndex() error {
	entries, _, err := s.Entries()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("# Memory\n\nWhat agents learned here. Edit or delete the files as you like; each change writes this list again.\n")
	for _, state := range []State{Active, Candidate, Retired} {
		first := true
		for _, e := range entries {
			if e.State != state {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n## %s\n\n", strings.ToUpper(string(state[:1]))+string(state[1:]))
				first = false
			}
			fmt.Fprintf(&b, "- [%s](%s.md): %s\n", strings.NewReplacer("[", "\\[", "]", "\\]").Replace(e.Title), e.ID, e.Kind)
		}
	}
	if old, err := readFile(filepath.Join(s.Path(), indexName), 4<<20); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	return s.put(indexName, b.Bytes())
}

// ordered sorts entries as prompts show them: those that the work agrees with first, then by id.
func ordered(entries []*Entry) []*Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b *Entry) int {
		switch x, y := a.Confidence(), b.Confidence(); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
}
