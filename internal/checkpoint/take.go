package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/safefile"
)

// Take records the state of the working trees at roots: each file's bytes and permission
// bits, symlinks, and folders with their bits. It leaves out ignored files and .git. It
// does not record owners, times, other attributes and hard links. Files that cannot be
// covered, such as pipes and files above MaxFile, are listed as gaps. A root below another
// one, and the store itself, belong to no other tree.
//
// If the quota is too small, older checkpoints are dropped; if that does not help, Take
// fails with ErrQuota. A Take that fails leaves no checkpoint. It waits while one of the
// trees is being restored. Unless the trees are at rest their files may be of different
// moments.
func (s *Store) Take(ctx context.Context, m Mark, roots ...string) (Checkpoint, error) {
	c := Checkpoint{Session: m.Session, Seq: m.Seq, Label: m.Label}
	if err := checkSession(m.Session); err != nil {
		return Checkpoint{}, fmt.Errorf("taking a checkpoint: %w", err)
	}
	trees, err := resolve(roots)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("taking a checkpoint: %w", err)
	}
	var locks []*lock
	defer func() {
		for _, l := range locks {
			l.release()
		}
	}()
	for _, root := range trees {
		l, err := s.acquire(ctx, safefile.Shared, append(treeFolder(root), "lock")...)
		if err != nil {
			return Checkpoint{}, err
		}
		locks = append(locks, l)
		if err := tidy(l, root); err != nil {
			return Checkpoint{}, fmt.Errorf("taking a checkpoint: %w", err)
		}
	}
	_, err = s.take(ctx, &c, trees, nil, "")
	if err != nil {
		return Checkpoint{}, fmt.Errorf("taking a checkpoint: %w", err)
	}
	return c, nil
}

// resolve returns the roots, absolute, without symlinks, each once, in order.
func resolve(roots []string) (trees []string, err error) {
	if len(roots) == 0 {
		return nil, errors.New("no folder is given")
	}
	for _, root := range roots {
		if root, err = filepath.Abs(root); err != nil {
			return nil, err
		}
		if root, err = filepath.EvalSymlinks(root); err != nil {
			return nil, err
		}
		if !utf8.ValidString(root) {
			return nil, fmt.Errorf("the path of %q is not UTF-8", root)
		}
		trees = append(trees, root)
	}
	slices.Sort(trees)
	return slices.Compact(trees), nil
}

// take takes c and makes room for it if need be, but not at the cost of the
// checkpoint keep of the same session. pasts are the states, by tree, that the trees shall come
// back to. The trees are locked.
func (s *Store) take(ctx context.Context, c *Checkpoint, trees []string, pasts []*past, keep string) ([]*node, error) {
	kept := point{c.Session, keep}
	tops, need, err := s.takeIfRoom(ctx, c, trees, pasts)
	if errors.Is(err, ErrQuota) && need <= s.quota() {
		// A part may do, as most of the content may be there already.
		for _, room := range []int64{min(need, s.quota()/4), need} {
			if _, err := s.prune(ctx, room, kept); err != nil {
				return nil, err
			}
			if tops, _, err = s.takeIfRoom(ctx, c, trees, pasts); !errors.Is(err, ErrQuota) {
				break
			}
		}
		if errors.Is(err, ErrQuota) { // the unused content goes
			_, swept := s.prune(ctx, 0, kept)
			err = errors.Join(err, swept)
		}
	}
	if err != nil {
		return nil, err
	}
	s.pruneWhenDue(ctx, kept)
	return tops, nil
}

// takeIfRoom takes c or fails with ErrQuota. It returns how many bytes the files
// need in a store that has nothing else.
func (s *Store) takeIfRoom(ctx context.Context, c *Checkpoint, trees []string, pasts []*past) (tops []*node, need int64, err error) {
	l, err := s.acquire(ctx, safefile.Shared, "lock")
	if err != nil {
		return nil, 0, err
	}
	defer l.release()
	grown, err := s.readUsage()
	if err != nil {
		return nil, 0, err
	}
	c.Trees, c.Gaps, c.GapCount = nil, nil, 0
	scans, err := s.scans(trees, pasts, false)
	if err != nil {
		return nil, 0, err
	}
	defer closeAll(scans)
	for _, scan := range scans {
		top, err := scan.walk(ctx)
		if err != nil {
			return nil, 0, err
		}
		tops = append(tops, top)
		need += scan.need
	}
	if need > s.quota() {
		return nil, need, fmt.Errorf("%w: %d bytes in blocks of %d, and the quota is %d; files that git ignores do not count", ErrQuota, need, blockSize, s.quota())
	}
	left := newCounter(s.quota() - grown.bytes)
	for i, scan := range scans {
		if err := scan.finish(ctx, tops[i], left); err != nil {
			return nil, need, errors.Join(err, s.addUsage(left.taken.Load()))
		}
		c.Trees = append(c.Trees, scan.tree(tops[i]))
		c.addGaps(scan.gaps)
	}
	c.Excludes = excludes(scans)
	// First, so that nothing can fail once the checkpoint is there.
	if err := s.addUsage(left.taken.Load() + recordSize(*c)); err != nil {
		return nil, need, err
	}
	return tops, need, s.record(c)
}

// tree describes the files found.
func (s *scan) tree(top *node) Tree {
	t := Tree{Root: s.root, Hash: top.sum.String()}
	t.count(top)
	return t
}

func (t *Tree) count(dir *node) {
	for _, n := range dir.in {
		switch n.kind {
		case folder:
			t.count(n)
		case file, link:
			t.Files++
			t.Bytes += n.size
		}
	}
}

func (c *Checkpoint) addGaps(gaps []Gap) {
	slices.SortFunc(gaps, func(a, b Gap) int { return strings.Compare(a.Path, b.Path) })
	c.GapCount += len(gaps)
	c.Gaps = append(c.Gaps, gaps[:min(len(gaps), maxGaps-len(c.Gaps))]...)
}

// finish reads the files that the walk left unread and stores the lists of folders.
func (s *scan) finish(ctx context.Context, top *node, left *counter) error {
	if err := s.read(ctx, left); err != nil {
		return err
	}
	to := writer{s.Store, left}
	size, err := lists(top, 0, func(x sum, _ []*node, data []byte) error { return to.put(object{folders, x}, data) })
	if err != nil {
		return err
	}
	if len(s.unread) == 0 && s.same == len(s.index) {
		return nil // the index would be as it was
	}
	return s.saveIndex(s.root, top, size)
}

// scans prepares a look at each tree.
func (s *Store) scans(trees []string, pasts []*past, dry bool) (list []*scan, err error) {
	var apart []fs.FileInfo
	for i, path := range slices.Concat(trees, []string{s.Dir}, s.Apart) {
		info, err := safefile.Stat(path)
		if own := i - len(trees); err != nil && !(own == 0 && dry || own > 0 && errors.Is(err, fs.ErrNotExist)) {
			closeAll(list)
			return nil, err
		}
		if err == nil {
			apart = append(apart, info)
		}
	}
	for i, root := range trees {
		top, err := os.OpenRoot(root)
		if err != nil {
			closeAll(list)
			return nil, err
		}
		one := &scan{Store: s, root: root, top: top, index: s.loadIndex(root), apart: apart, dry: dry}
		if pasts != nil {
			one.past = pasts[i]
		}
		list = append(list, one)
	}
	return list, nil
}

func closeAll(list []*scan) {
	for _, s := range list {
		_ = s.top.Close() // it was only read
	}
}

// now returns the time of a new checkpoint. It is later than that of the session's last
// one, even if the clock was set back.
func (s *Store) now(session string) (time.Time, error) {
	now := time.Now().Truncate(time.Microsecond)
	ids, err := s.ids(session)
	if err != nil || len(ids) == 0 {
		return now, err
	}
	if last := idTime(ids[len(ids)-1]); !now.After(last) {
		now = last.Add(time.Microsecond)
	}
	return now, nil
}
