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

	"github.com/openagent-go/agent/internal/safefile"
)

// A Report describes the changes that a restore has made or would make.
type Report struct {
	// Undo is the id of a checkpoint of the files before the restore: restoring it undoes
	// the restore. It is "" if nothing was changed.
	Undo string
	// Changes lead from the present files to the checkpoint, without diffs: an added file
	// comes back, a deleted one goes.
	Changes []Change
	// Left lists files that cannot be or were not brought back, and why. An uncovered file
	// is in the way, or another program changed them in the meantime.
	Left []Gap
	// Gaps and GapCount are those of the checkpoint: files that it does not cover stay as
	// they are.
	Gaps     []Gap
	GapCount int
}

// Unrestored returns the paths that were left as they are: Left, then Gaps. Each is an
// [*fs.PathError] with an absolute path.
func (r Report) Unrestored() (list []error) {
	for _, g := range slices.Concat(r.Left, r.Gaps) {
		list = append(list, &fs.PathError{Op: "restore", Path: filepath.Join(g.Root, filepath.FromSlash(g.Path)), Err: errors.New(g.Reason)})
	}
	return list
}

// A Restoring says how files are brought back. The zero value does it.
type Restoring struct {
	Dry bool // only report the changes
	// Kept is called with the id of the checkpoint of the present files, when all is ready
	// and before the first file changes, so that you can record it. It is not called if no
	// file is to change. If it fails, nothing is changed and Restore returns its error.
	// Nil: nothing is called.
	Kept func(undo string) error
}

// Restore brings the files of a checkpoint back: exactly those that it covers, with their
// bytes, permission bits and links. Files that were added since are removed, also those that
// only newer ignore files hide. Files that git ignored at the time of the checkpoint, .git and
// the listed gaps are never touched, unless the checkpoint has them. Files are replaced whole, by new ones that belong to the user of the program.
//
// The present files are recorded in a checkpoint of the same session first, with the
// highest Seq that the session has. All content is read and verified, and written to the
// disk of the tree, before the first file is replaced: if that fails, or ctx ends, nothing
// has changed. After that ctx no longer ends it. If the disk fails then, the error comes
// with a report whose Undo brings the old files back.
//
// It fails like [Store.Find], and with a [*CorruptError].
func (s *Store) Restore(ctx context.Context, session, id string, how Restoring) (Report, error) {
	c, err := s.Find(ctx, session, id)
	if err != nil {
		return Report{}, err
	}
	r := restore{store: s, target: c, Restoring: how, report: Report{Gaps: c.Gaps, GapCount: c.GapCount}}
	defer r.close()
	if err := r.run(ctx); err != nil {
		if _, gone := s.Find(ctx, session, id); errors.Is(gone, ErrNotFound) {
			err = gone // another process has dropped it just now
		}
		return r.report, fmt.Errorf("restoring files: %w", err)
	}
	return r.report, nil
}

// A restore is one under way.
type restore struct {
	store  *Store
	target Checkpoint
	Restoring
	report Report
	locks  []*lock
	trees  []*treeRestore
}

func (r *restore) close() {
	for _, t := range r.trees {
		t.close()
	}
	for _, l := range r.locks {
		l.release()
	}
}

func (r *restore) run(ctx context.Context) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.Dry {
		return r.try(ctx)
	}
	for _, tree := range r.target.Trees {
		l, err := r.store.acquire(ctx, safefile.Exclusive, append(treeFolder(tree.Root), "lock")...)
		if err != nil {
			return err
		}
		r.locks = append(r.locks, l)
		if err := tidy(l, tree.Root); err != nil {
			return err
		}
	}
	pasts, err := r.store.pasts(ctx, r.target)
	if err != nil {
		return err
	}
	before, err := r.before(ctx)
	if err != nil {
		return err
	}
	tops, err := r.store.take(ctx, &before, roots(r.target), pasts, r.target.ID)
	if err != nil {
		return fmt.Errorf("recording the present files: %w", err)
	}
	r.report.Undo = before.ID
	return r.apply(ctx, tops)
}

// check makes sure that the trees are where they were: not behind links.
func (r *restore) check() error {
	for _, tree := range r.target.Trees {
		if !r.Dry { // the tree itself may have been removed
			if err := os.Mkdir(tree.Root, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		now, err := filepath.EvalSymlinks(tree.Root)
		if err != nil {
			return err
		}
		if now != tree.Root {
			return fmt.Errorf("%s was a folder and is now a link to %s; remove the link first", tree.Root, now)
		}
	}
	return nil
}

// before describes the checkpoint of the present files.
func (r *restore) before(ctx context.Context) (Checkpoint, error) {
	c := Checkpoint{Session: r.target.Session, Label: "before restoring", Undoes: r.target.ID}
	list, err := r.store.List(ctx, c.Session)
	for _, other := range list {
		c.Seq = max(c.Seq, other.Seq)
	}
	return c, err
}

// try finds out what a restore would change.
func (r *restore) try(ctx context.Context) error {
	l, err := r.store.acquire(ctx, safefile.Shared, "lock")
	if err != nil {
		return err
	}
	defer l.release()
	p, err := r.store.present(ctx, r.target)
	if err != nil {
		return err
	}
	defer closeAll(p.scans)
	for i, tree := range r.target.Trees {
		plan, err := r.plan(ctx, tree, p.tops[i])
		if err != nil {
			return err
		}
		r.report.add(plan)
	}
	return nil
}

func (r *Report) add(p *plan) {
	r.Changes = append(r.Changes, p.changes...)
	r.Left = append(r.Left, p.left...)
}

// apply brings the trees, now as described by tops, to the state of the checkpoint.
func (r *restore) apply(ctx context.Context, tops []*node) error {
	l, err := r.store.acquire(ctx, safefile.Shared, "lock")
	if err != nil {
		return err
	}
	defer l.release()
	for i, tree := range r.target.Trees {
		p, err := r.plan(ctx, tree, tops[i])
		if err != nil {
			return err
		}
		r.report.Changes = append(r.report.Changes, p.changes...)
		t := &treeRestore{store: r.store, lock: r.locks[i], plan: p, folderModes: map[string]fs.FileMode{}}
		r.trees = append(r.trees, t)
		if err := t.stage(ctx); err != nil {
			r.report.Changes = nil
			return err
		}
	}
	if r.Kept != nil && len(r.report.Changes) > 0 {
		if err := r.Kept(r.report.Undo); err != nil {
			r.report.Changes = nil
			return err
		}
	}
	for _, t := range r.trees {
		err := t.apply()
		t.setModes()
		r.report.Left = append(r.report.Left, t.left...)
		if err != nil {
			return err
		}
	}
	return nil
}

// A plan lists the changes to make in a tree.
type plan struct {
	root     string
	changes  []Change
	left     []Gap
	removals []action // files and links
	rmdirs   []action // those in others first
	mkdirs   []action // those in others last
	puts     []action // files and links
	modes    []action // of files, then of folders
}

// An action is about one path.
type action struct {
	path string
	now  *node  // nil: nothing is there
	want *entry // nil: nothing should be there
}

func (r *restore) plan(ctx context.Context, tree Tree, top *node) (*plan, error) {
	x, err := parseSum(tree.Hash)
	if err != nil {
		return nil, err
	}
	pl := planner{ctx: ctx, store: r.store, plan: &plan{root: tree.Root}}
	err = pl.folder("", top, &entry{kind: folder, sum: x})
	return pl.plan, err
}

type planner struct {
	ctx   context.Context
	store *Store
	*plan
}

// folder plans the changes of a folder's entries; now or want may be nil.
func (p *planner) folder(path string, now *node, want *entry) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	wanted, err := in(want, p.store.list)
	if err != nil {
		return err
	}
	var nodes []*node
	var there []entry
	if now != nil {
		nodes = now.in
		for _, n := range nodes {
			there = append(there, n.entry)
		}
	}
	return pair(there, wanted, func(a, b *entry) error {
		var n *node
		if a != nil {
			n, nodes = nodes[0], nodes[1:]
		}
		if a.same(b) {
			return nil
		}
		return p.path(join(path, either(a, b).name), n, b)
	})
}

// path plans for one path.
func (p *planner) path(path string, now *node, want *entry) error {
	switch {
	case want != nil && !want.kind.covered():
		return nil // it was there and is not ours
	case now != nil && !now.kind.covered():
		if want != nil {
			p.leave(path, "what is there now is not covered: "+why(now))
		}
		return nil
	case now == nil:
		return p.add(path, nil, want)
	case want == nil:
		p.remove(path, now)
		return nil
	case now.kind == folder && want.kind == folder:
		if now.mode != want.mode {
			p.change(path, Mode, true)
			p.modes = append(p.modes, action{path, now, want})
		}
		return p.folder(path, now, want)
	case now.kind == folder:
		if now.holds() {
			p.leave(path, "it is a folder now with files that are not covered")
			return nil
		}
		p.remove(path, now)
		return p.add(path, nil, want)
	case want.kind == folder:
		p.remove(path, now)
		return p.add(path, nil, want)
	case now.kind == file && want.kind == file && now.sum == want.sum:
		p.change(path, Mode, false)
		p.modes = append(p.modes, action{path, now, want})
		return nil
	}
	return p.add(path, now, want)
}

// why says why a node is not covered.
func why(n *node) string {
	if n.kind == ignored {
		return "ignored"
	}
	return n.text
}

// holds reports whether a folder has something in it that is not covered.
func (n *node) holds() bool {
	return slices.ContainsFunc(n.in, func(n *node) bool { return !n.kind.covered() || n.holds() })
}

func (p *plan) leave(path, why string) { p.left = append(p.left, Gap{p.root, path, why}) }

func (p *plan) change(path string, kind ChangeKind, dir bool) {
	p.changes = append(p.changes, Change{Root: p.root, Path: path, Kind: kind, Folder: dir})
}

// add plans an entry that is missing, or present as another file or link.
func (p *planner) add(path string, now *node, want *entry) error {
	kind := Added
	if now != nil {
		kind = Changed
	}
	p.change(path, kind, want.kind == folder)
	if want.kind != folder {
		p.puts = append(p.puts, action{path, now, want})
		return nil
	}
	p.mkdirs = append(p.mkdirs, action{path, nil, want})
	return p.folder(path, nil, want)
}

// remove plans to remove a file, a link, or the covered entries of a folder.
func (p *planner) remove(path string, now *node) {
	p.change(path, Deleted, now.kind == folder)
	if now.kind != folder {
		p.removals = append(p.removals, action{path, now, nil})
		return
	}
	for _, n := range now.in {
		if n.kind.covered() {
			p.remove(join(path, n.name), n)
		}
	}
	if now.holds() {
		p.leave(path, "it has files that are not covered")
		return
	}
	p.rmdirs = append(p.rmdirs, action{path, now, nil})
}

// parents returns the folders in which something is done, outer ones first.
func (p *plan) parents() []string {
	seen := map[string]bool{}
	note := func(path string) {
		for path != "" {
			path, _ = split(path)
			seen[path] = true
		}
	}
	for _, list := range [][]action{p.removals, p.rmdirs, p.mkdirs, p.puts} {
		for _, a := range list {
			note(a.path)
		}
	}
	var list []string
	for path := range seen {
		list = append(list, path)
	}
	slices.SortFunc(list, strings.Compare)
	return list
}
