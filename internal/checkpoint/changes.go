package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/openagent-go/agent/internal/safefile"
)

const (
	// maxCompared is the size in bytes of the largest files that are compared line
	// by line.
	maxCompared = 512 << 10
	// maxDiff is the length in bytes of the longest diff of a file, maxDiffs of all.
	maxDiff  = 64 << 10
	maxDiffs = 4 << 20
)

// A ChangeKind says how a file has changed.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Changed ChangeKind = "changed" // its content, the target of a link, or its type
	Deleted ChangeKind = "deleted"
	Mode    ChangeKind = "mode" // its permission bits alone
)

// A Change is a difference at one path.
type Change struct {
	Root   string     `json:"root"`
	Path   string     `json:"path"` // relative to Root, with slashes
	Kind   ChangeKind `json:"kind"`
	Folder bool       `json:"folder,omitempty"` // it is one, or was one if deleted
	// Diff is a unified diff of text, truncated if DiffCut is set. It is empty for binary
	// and for very long files.
	Diff    string `json:"diff,omitempty"`
	DiffCut bool   `json:"diffCut,omitempty"`
}

// Changes returns how the files have changed between two checkpoints of one session. "" in
// place of an id stands for the present files. Trees that only one of the two checkpoints
// has are left out. It fails like [Store.Find], and with a [*CorruptError].
func (s *Store) Changes(ctx context.Context, session, from, to string) ([]Change, error) {
	l, err := s.acquire(ctx, safefile.Shared, "lock")
	if err != nil {
		return nil, err
	}
	defer l.release()
	d := differ{ctx: ctx, store: s, left: maxDiffs, back: from == ""}
	a, err := s.Find(ctx, session, cmp.Or(from, to))
	if err != nil {
		return nil, err
	}
	if from == "" || to == "" {
		err = d.now(a)
	} else {
		var b Checkpoint
		if b, err = s.Find(ctx, session, to); err != nil {
			return nil, err
		}
		err = d.both(a, b)
	}
	if err != nil {
		return nil, fmt.Errorf("comparing files: %w", err)
	}
	return d.found, nil
}

// A differ collects changes.
type differ struct {
	ctx   context.Context
	store *Store
	left  int // bytes of diffs
	found []Change

	root string
	was  lister
	is   lister
	at   *cursor // the tree as it is now; nil: is has the content
	back bool    // the changes lead from is to was
}

func (d *differ) both(a, b Checkpoint) error {
	d.was, d.is = d.store.list, d.store.list
	for _, was := range a.Trees {
		for _, is := range b.Trees {
			if was.Root != is.Root {
				continue
			}
			x, err1 := parseSum(was.Hash)
			y, err2 := parseSum(is.Hash)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			d.root = was.Root
			if err := d.folder("", &entry{kind: folder, sum: x}, &entry{kind: folder, sum: y}); err != nil {
				return err
			}
		}
	}
	return nil
}

// now compares a checkpoint with the trees as they are.
func (d *differ) now(a Checkpoint) error {
	p, err := d.store.present(d.ctx, a)
	if err != nil {
		return err
	}
	defer closeAll(p.scans)
	d.was, d.is = d.store.list, p.list
	for i, was := range a.Trees {
		x, err := parseSum(was.Hash)
		if err != nil {
			return err
		}
		d.root, d.at = was.Root, &cursor{top: p.scans[i].top}
		err = d.folder("", &entry{kind: folder, sum: x}, &p.tops[i].entry)
		d.at.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// A presence describes the present trees of a checkpoint; nothing of it is stored.
type presence struct {
	scans []*scan
	tops  []*node
	lists map[sum][]entry
}

// present looks at the trees of a checkpoint, at all files that it has.
func (s *Store) present(ctx context.Context, c Checkpoint) (*presence, error) {
	pasts, err := s.pasts(ctx, c)
	if err != nil {
		return nil, err
	}
	p := &presence{lists: map[sum][]entry{}}
	if p.scans, err = s.scans(roots(c), pasts, true); err != nil {
		return nil, err
	}
	for _, scan := range p.scans {
		top, err := scan.walk(ctx)
		if err == nil {
			err = scan.read(ctx, nil)
		}
		if err == nil {
			_, err = lists(top, 0, p.keep)
		}
		if err != nil {
			closeAll(p.scans)
			return nil, err
		}
		p.tops = append(p.tops, top)
	}
	return p, nil
}

func (p *presence) keep(x sum, in []*node, _ []byte) error {
	list := make([]entry, len(in))
	for i, n := range in {
		list[i] = n.entry
	}
	p.lists[x] = list
	return nil
}

func (p *presence) list(x sum) ([]entry, error) { return p.lists[x], nil }

func roots(c Checkpoint) (list []string) {
	for _, t := range c.Trees {
		list = append(list, t.Root)
	}
	return list
}

// in returns the entries of a folder; none if e is nil.
func in(e *entry, list lister) ([]entry, error) {
	if e == nil || e.kind != folder {
		return nil, nil
	}
	return list(e.sum)
}

// folder compares the entries of two folders; either may be nil.
func (d *differ) folder(path string, a, b *entry) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	was, err := in(a, d.was)
	if err != nil {
		return err
	}
	is, err := in(b, d.is)
	if err != nil {
		return err
	}
	return pair(was, is, func(a, b *entry) error {
		if a.same(b) {
			return nil
		}
		at := join(path, either(a, b).name)
		if !hidden(a) && !hidden(b) {
			if err := d.change(at, a, b); err != nil {
				return err
			}
		}
		return d.folder(at, a, b)
	})
}

func either(a, b *entry) *entry {
	if a == nil {
		return b
	}
	return a
}

// hidden reports whether nothing can be said of an entry.
func hidden(e *entry) bool { return e != nil && e.kind == ignored }

// change records how one path has changed, if it has.
func (d *differ) change(path string, a, b *entry) error {
	atA, atB := (*cursor)(nil), d.at
	if d.back {
		a, b, atA, atB = b, a, atB, atA
	}
	c := Change{Root: d.root, Path: path, Folder: either(b, a).kind == folder}
	switch {
	case a == nil:
		c.Kind = Added
	case b == nil:
		c.Kind = Deleted
	case a.kind == gap && b.kind == gap, a.kind == folder && b.kind == folder && a.mode == b.mode:
		return nil
	case a.kind == folder && b.kind == folder, a.kind == file && b.kind == file && a.sum == b.sum:
		c.Kind = Mode
	default:
		c.Kind = Changed
	}
	if c.Kind != Mode && d.left > 0 {
		old, ok1, err1 := d.text(path, a, atA)
		text, ok2, err2 := d.text(path, b, atB)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if ok1 && ok2 {
			c.diff(old, text, min(maxDiff, d.left))
			d.left -= len(c.Diff)
		}
	}
	d.found = append(d.found, c)
	return nil
}

// text returns the content of an entry if it is text, from the store or at.
func (d *differ) text(path string, e *entry, at *cursor) (text string, ok bool, err error) {
	switch {
	case e == nil:
		return "", true, nil
	case e.kind != file || e.size > maxCompared:
		return "", false, nil
	}
	var data []byte
	if at == nil {
		data, err = d.store.load(object{contents, e.sum}, maxCompared)
	} else if data, err = readText(at, path); err != nil {
		return "", false, nil // it has changed once more
	}
	return string(data), err == nil && bytes.IndexByte(data, 0) < 0, err
}

func readText(at *cursor, path string) ([]byte, error) {
	dir, name := split(path)
	in, err := at.to(dir)
	if err != nil {
		return nil, err
	}
	f, _, err := openIn(in, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCompared+1))
	if len(data) > maxCompared {
		err = os.ErrInvalid
	}
	return data, err
}

// Shown returns a path for one line of text. A path with line ends, invisible characters or
// invalid UTF-8 is quoted as in Go.
func Shown(path string) string {
	if utf8.ValidString(path) && !strings.ContainsFunc(path, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return path
	}
	return strconv.Quote(path)
}

// diff sets the diff of at most limit bytes.
func (c *Change) diff(old, text string, limit int) {
	from, to := Shown(c.Path), Shown(c.Path)
	switch c.Kind {
	case Added:
		from = "/dev/null"
	case Deleted:
		to = "/dev/null"
	}
	diff := udiff.Unified(from, to, old, text)
	if len(diff) > limit {
		diff = diff[:strings.LastIndexByte(diff[:limit], '\n')+1]
		c.DiffCut = true
	}
	c.Diff = strings.ToValidUTF8(diff, "\uFFFD")
}
