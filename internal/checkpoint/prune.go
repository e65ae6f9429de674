package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// pruneEvery is how often Take removes old checkpoints.
const pruneEvery = 24 * time.Hour

// Pruned says how much was removed and how much is left.
type Pruned struct {
	Checkpoints int   // removed
	Bytes       int64 // freed
	Usage       Usage // after it
}

// Usage is the size of a store.
type Usage struct {
	Sessions    int
	Checkpoints int
	Objects     int   // contents and lists of folders
	Bytes       int64 // all of it, counted in blocks of 4 KiB
}

// Prune removes checkpoints older than MaxAge. If more than Quota is still used, it removes
// more, oldest first, until three quarters of it are used. The newest checkpoint of each
// session goes last. Content that no checkpoint needs is removed. Prune waits until no
// other process uses the store. It removes a checkpoint that it cannot read. If one has a
// newer version, it does nothing and fails with ErrVersion. Take prunes when the quota is
// reached, and once a day.
func (s *Store) Prune(ctx context.Context) (Pruned, error) {
	if s.absent() {
		return Pruned{}, nil
	}
	return s.prune(ctx, 0, point{})
}

// prune leaves room bytes of the quota free and keeps one checkpoint, however large.
func (s *Store) prune(ctx context.Context, room int64, keep point) (Pruned, error) {
	l, err := s.acquire(ctx, safefile.Exclusive, "lock")
	if err != nil {
		return Pruned{}, err
	}
	defer l.release()
	return s.sweep(ctx, s.quota()-room, keep)
}

// pruneWhenDue is for the end of a Take, which it does not let fail: the next one
// will try again.
func (s *Store) pruneWhenDue(ctx context.Context, keep point) {
	g, err := s.readUsage()
	if err != nil || g.bytes <= s.quota() && time.Since(g.counted).Abs() < pruneEvery {
		return
	}
	l, err := s.try(safefile.Exclusive, "lock")
	if l == nil || err != nil {
		return
	}
	defer l.release()
	_, _ = s.sweep(ctx, s.quota(), keep)
}

// sweep removes checkpoints until at most limit bytes are used, then the content that no
// checkpoint needs. The caller holds the exclusive lock.
func (s *Store) sweep(ctx context.Context, limit int64, keep point) (p Pruned, err error) {
	list, broken, err := s.records(ctx)
	if err != nil {
		return p, err
	}
	before, err := s.usage(ctx, list)
	if err != nil {
		return p, err
	}
	m, err := s.choose(ctx, list, keep, limit-s.aside())
	if err != nil {
		return p, err
	}
	for _, d := range broken {
		if err := s.writer().remove(d.File); err != nil {
			return p, fmt.Errorf("removing a checkpoint: %w", err)
		}
	}
	for i, c := range list {
		if m.kept[i] {
			continue
		}
		if err := s.writer().remove(s.path(append(sessionFolder(c.Session), c.ID+recordEnd)...)); err != nil {
			return p, fmt.Errorf("removing a checkpoint: %w", err)
		}
		p.Checkpoints++
	}
	p.Checkpoints += len(broken)
	// Only now that no checkpoint needs them.
	if err := s.removeUnmarked(ctx, m.marked); err != nil {
		return p, err
	}
	if list, _, err = s.records(ctx); err == nil {
		err = s.removeIndexes(list)
	}
	if err != nil {
		return p, err
	}
	if p.Usage, err = s.usage(ctx, list); err != nil {
		return p, err
	}
	p.Bytes = max(0, before.Bytes-p.Usage.Bytes)
	return p, s.saveUsage(p.Usage.Bytes)
}

// A marking is the set of objects that are kept.
type marking struct {
	*Store
	marked map[object]bool
	kept   []bool // of the list
	bytes  int64
}

// choose says which checkpoints of the list, newest first, fit below limit, or
// below three quarters of it where not all do.
func (s *Store) choose(ctx context.Context, list []Checkpoint, keep point, limit int64) (*marking, error) {
	m, whole, err := s.mark(ctx, list, keep, limit)
	if err != nil || whole {
		return m, err
	}
	m, _, err = s.mark(ctx, list, keep, limit/4*3)
	return m, err
}

func (s *Store) mark(ctx context.Context, list []Checkpoint, keep point, limit int64) (m *marking, whole bool, err error) {
	m = &marking{Store: s, marked: map[object]bool{}, kept: make([]bool, len(list))}
	oldest := time.Now().Add(-s.maxAge())
	whole = true
	// First the one that must stay, then the newest of each session, then the rest.
	newest := map[string]bool{}
	turn := make([]int, len(list))
	for i, c := range list {
		switch {
		case point{c.Session, c.ID} == keep:
			turn[i] = 0
		case !newest[c.Session]:
			turn[i] = 1
		default:
			turn[i] = 2
		}
		newest[c.Session] = true
	}
	for round := range 3 {
		for i, c := range list {
			if turn[i] != round || round > 0 && c.Time.Before(oldest) {
				continue
			}
			size, err := m.add(ctx, c, limit, round == 0)
			if err != nil {
				return nil, false, err
			}
			m.kept[i] = size >= 0
			whole = whole && m.kept[i]
		}
	}
	return m, whole, nil
}

// add marks the objects that a checkpoint needs and returns how many bytes that adds. If
// that is too much it marks nothing and returns -1.
func (m *marking) add(ctx context.Context, c Checkpoint, limit int64, must bool) (int64, error) {
	r := reach{marking: m, bytes: recordSize(c)}
	for _, t := range c.Trees {
		x, err := parseSum(t.Hash)
		if err != nil {
			return 0, err
		}
		if err := r.folder(ctx, x); err != nil {
			return 0, err
		}
	}
	if m.bytes+r.bytes > limit && !must {
		for _, x := range r.added {
			delete(m.marked, x)
		}
		return -1, nil
	}
	m.bytes += r.bytes
	return r.bytes, nil
}

func recordSize(c Checkpoint) int64 {
	data, _ := json.Marshal(c) // it was read from JSON
	return blocks(int64(len(data)))
}

// A reach is the set of objects that one checkpoint needs and that are not marked yet.
type reach struct {
	*marking
	added []object
	bytes int64
}

func (r *reach) object(x object, size int64) bool {
	if r.marked[x] {
		return false
	}
	r.marked[x] = true
	r.added = append(r.added, x)
	r.bytes += blocks(size)
	return true
}

// folder marks a list and the objects that it names. A missing or damaged list names
// nothing; Verify reports it.
func (r *reach) folder(ctx context.Context, x sum) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !r.object(object{folders, x}, 0) {
		return nil
	}
	in, err := r.list(x)
	if _, ok := errors.AsType[*CorruptError](err); ok {
		return nil
	}
	if err != nil {
		return err
	}
	r.bytes += blocks(listSize(in))
	for _, e := range in {
		switch e.kind {
		case file:
			r.object(object{contents, e.sum}, e.size)
		case folder:
			if err := r.folder(ctx, e.sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// listSize is about how long the list of a folder is.
func listSize(in []entry) int64 {
	size := len(listHeader)
	for _, e := range in {
		size += len(e.name) + len(e.text) + sumSize + 10
	}
	return int64(size)
}

// objects calls yield for each object and skips other files.
func (s *Store) objects(ctx context.Context, yield func(path string, x object, size int64) error) error {
	for _, area := range []string{contents, folders} {
		dirs, err := safefile.ReadDir(s.path(area))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("listing stored content: %w", err)
		}
		for _, d := range dirs {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !d.IsDir() {
				continue
			}
			names, err := safefile.ReadDir(s.path(area, d.Name()))
			if err != nil {
				return fmt.Errorf("listing stored content: %w", err)
			}
			for _, e := range names {
				info, err1 := e.Info()
				x, err2 := parseSum(d.Name() + e.Name())
				if err1 != nil || err2 != nil {
					continue // gone by now, or not ours
				}
				if err := yield(s.path(area, d.Name(), e.Name()), object{area, x}, info.Size()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// removeUnmarked removes objects that are not marked, and files that dead writers have
// left.
func (s *Store) removeUnmarked(ctx context.Context, marked map[object]bool) error {
	err := s.objects(ctx, func(path string, x object, _ int64) error {
		if marked[x] {
			return nil
		}
		return s.writer().remove(path)
	})
	if err != nil {
		return fmt.Errorf("removing stored content: %w", err)
	}
	left, err := safefile.ReadDir(s.path("tmp"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing unfinished files: %w", err)
	}
	for _, e := range left {
		if err := s.writer().remove(s.path("tmp", e.Name())); err != nil {
			return fmt.Errorf("removing unfinished files: %w", err)
		}
	}
	return nil
}

// Usage returns the size of the store. An absent store is empty.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	list, _, err := s.records(ctx)
	if err != nil {
		return Usage{}, err
	}
	return s.usage(ctx, list)
}

func (s *Store) usage(ctx context.Context, list []Checkpoint) (u Usage, err error) {
	sessions := map[string]bool{}
	for _, c := range list {
		sessions[c.Session] = true
		u.Bytes += recordSize(c)
	}
	u.Sessions, u.Checkpoints = len(sessions), len(list)
	err = s.objects(ctx, func(_ string, _ object, size int64) error {
		u.Objects++
		u.Bytes += blocks(size)
		return nil
	})
	if err != nil {
		return u, err
	}
	u.Bytes += s.aside()
	return u, nil
}

// aside returns the bytes of all that is neither an object nor a checkpoint.
func (s *Store) aside() (bytes int64) {
	for _, dir := range []string{"trees", "tmp"} {
		_ = filepath.WalkDir(s.path(dir), func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // gone by now
			}
			if info, err := e.Info(); err == nil {
				bytes += blocks(info.Size())
			}
			return nil
		})
	}
	return bytes
}

// removeIndexes removes the indexes of trees that no checkpoint has.
func (s *Store) removeIndexes(list []Checkpoint) error {
	used := map[string]bool{}
	for _, c := range list {
		for _, t := range c.Trees {
			used[treeFolder(t.Root)[1]] = true
		}
	}
	dirs, err := safefile.ReadDir(s.path("trees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the index of files: %w", err)
	}
	for _, d := range dirs {
		if used[d.Name()] {
			continue
		}
		if err := s.writer().remove(s.path("trees", d.Name(), "index")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the index of files: %w", err)
		}
	}
	return nil
}

// A usageDelta says how many bytes the store has at most.
type usageDelta struct {
	bytes   int64
	counted time.Time // when they were last counted
}

// readUsage reads the file "growth": the time of the last count, in seconds since 1970, the
// bytes then, and on a line each the bytes that each Take has added. Lines that are not
// numbers are skipped.
func (s *Store) readUsage() (g usageDelta, err error) {
	data, err := s.read(maxRecord, "growth")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := safefile.Lstat(s.path(contents)); errors.Is(err, fs.ErrNotExist) { // a new store
			return usageDelta{counted: time.Now()}, s.saveUsage(0)
		}
	} else if err != nil {
		return g, fmt.Errorf("reading how much was stored: %w", err)
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	seconds, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return usageDelta{counted: time.Unix(0, 0)}, nil // to be counted again
	}
	g.counted = time.Unix(seconds, 0)
	for line := range strings.Lines(rest) {
		if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil && n > 0 {
			g.bytes += n
		}
	}
	return g, nil
}

func (s *Store) saveUsage(bytes int64) error {
	text := fmt.Sprintf("%d\n%d\n", time.Now().Unix(), bytes)
	if err := s.save([]byte(text), "growth"); err != nil {
		return fmt.Errorf("recording how much was stored: %w", err)
	}
	return nil
}

// addUsage records that bytes were stored.
func (s *Store) addUsage(bytes int64) error {
	if bytes == 0 {
		return nil
	}
	f, err := s.writer().open(s.path("growth"), os.O_APPEND|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("recording how much was stored: %w", err)
	}
	_, err = fmt.Fprintf(f, "\n%d\n", bytes) // on its own line, because a full disk may have cut the last one
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("recording how much was stored: %w", err)
	}
	return nil
}
