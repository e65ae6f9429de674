// Package checkpoint keeps snapshots of folders, so that you can bring their files
// back, no matter who changed them. A checkpoint covers all files that git does not
// ignore. Each content is stored once, however many checkpoints have it.
//
//	store := &checkpoint.Store{Dir: dir}
//	before, err := store.Take(ctx, "session", 1, folder)
//	report, err := store.Restore(ctx, "session", before, nil)
//
// Give Take to an agent as its Checkpoint function, and Restore to Session.RewindFiles.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// Errors of stores.
var (
	// ErrNotFound is matched by errors about a checkpoint that is not there, or no
	// longer.
	ErrNotFound = checkpoint.ErrNotFound
	// ErrQuota is matched if the files do not fit into the quota, even if every other
	// checkpoint were dropped.
	ErrQuota = checkpoint.ErrQuota
)

// A Store keeps checkpoints in a folder. Any number of processes may use it at a time. What
// is written survives the death of the program; a loss of power may cost the newest
// checkpoints, which is noticed when they are used.
//
// A checkpoint belongs to a session, which is any name that you choose, such as a session's id.
type Store struct {
	// Dir is the folder of the store, made with the first checkpoint. It may lie in
	// a working tree, which does not cover it.
	Dir string
	// Quota is how many bytes the store may have; 0: 1 GiB. The oldest checkpoints are
	// dropped to stay below it, the newest one of each session last.
	Quota int64
	// MaxAge is how long a checkpoint is kept; 0: 30 days.
	MaxAge time.Duration
	// MaxFile is the size in bytes of the largest files that are covered; 0: 32 MiB.
	MaxFile int64
}

// A Checkpoint is a state of one or several working trees.
type Checkpoint struct {
	ID   string    // unique and, in a session, ascending
	Seq  int64     // the place in the session, as given to Take
	Time time.Time // when it was taken
}

// A Change is a difference at one path.
type Change struct {
	Path string // absolute
	Kind string // "added", "deleted", "changed", or "mode": its permission bits alone
	// Diff is a unified diff of text. It is empty for binary and for very long files, and
	// ends early where it would be longer than 64 KiB.
	Diff string
}

// A Report describes the changes that a restore has made.
type Report struct {
	// Changes lead from the files before the restore to the checkpoint, without diffs: an
	// added file came back, a deleted one went.
	Changes []Change
	// Left lists the paths that were left as they are, and why: an uncovered file is in the
	// way, another program changed them in the meantime, or the checkpoint does not cover them.
	// Each is an [*fs.PathError]. Of uncovered paths the first hundred are listed.
	Left []error
}

func (s *Store) inner() *checkpoint.Store {
	return &checkpoint.Store{Dir: s.Dir, Quota: s.Quota, MaxAge: s.MaxAge, MaxFile: s.MaxFile}
}

// Take records the state of the working trees at roots and returns the id of the checkpoint. It
// records each file's bytes and permission bits, symlinks, and folders with their bits. It leaves
// out ignored files, .git, pipes and other special files, and files above MaxFile. It does not
// record owners, times, other attributes and hard links. A root below another one, and the store
// itself, belong to no other tree. seq is the place in the session, such as the number of a fact.
//
// If the quota is too small, older checkpoints are dropped; if that does not help, Take
// fails with ErrQuota. A Take that fails leaves no checkpoint. It waits while one of the
// trees is being restored. Unless the trees are at rest their files may be of different
// moments.
func (s *Store) Take(ctx context.Context, session string, seq int64, roots ...string) (id string, err error) {
	c, err := s.inner().Take(ctx, checkpoint.Mark{Session: session, Seq: seq}, roots...)
	return c.ID, err
}

// List returns the checkpoints of a session, oldest first. Those that cannot be
// read are passed over: see [Store.Verify].
func (s *Store) List(ctx context.Context, session string) ([]Checkpoint, error) {
	list, err := s.inner().List(ctx, session)
	out := make([]Checkpoint, len(list))
	for i, c := range list {
		out[i] = Checkpoint{ID: c.ID, Seq: c.Seq, Time: c.Time}
	}
	return out, err
}

// Changes returns how the files have changed between two checkpoints of one session. "" in
// place of an id stands for the present files, so the changes from "" to a checkpoint are those
// that restoring it would make. Trees that only one of the two checkpoints has are left out. It
// fails with ErrNotFound if there is no such checkpoint.
func (s *Store) Changes(ctx context.Context, session, from, to string) ([]Change, error) {
	list, err := s.inner().Changes(ctx, session, from, to)
	return changes(list), err
}

func changes(list []checkpoint.Change) []Change {
	out := make([]Change, len(list))
	for i, c := range list {
		out[i] = Change{Path: filepath.Join(c.Root, filepath.FromSlash(c.Path)), Kind: string(c.Kind), Diff: c.Diff}
	}
	return out
}

// Restore brings the files of a checkpoint back: exactly those that it covers, with their
// bytes, permission bits and links. Files that were added since are removed, also those that
// only newer ignore files hide. Files that git ignored at the time of the checkpoint, .git and
// uncovered files are never touched, unless the checkpoint has them. Files are replaced whole, by new ones that belong to the user of the program.
//
// The present files are recorded in a checkpoint of the same session first, with the
// highest Seq that the session has: restoring it undoes the call. saved is called with its id
// before the first file changes, so that you can record it; not if no file is to change. If
// saved fails, nothing is changed and Restore returns its error. saved may be nil.
//
// All content is read and verified, and written to the disk of the tree, before the first file
// is replaced: if that fails, or ctx ends, nothing has changed. After that ctx no longer ends
// it. If the disk fails then, the error comes with a report of the changes.
//
// It fails with ErrNotFound if there is no such checkpoint.
func (s *Store) Restore(ctx context.Context, session, id string, saved func(undo string) error) (Report, error) {
	r, err := s.inner().Restore(ctx, session, id, checkpoint.Restoring{Kept: saved})
	return Report{Changes: changes(r.Changes), Left: r.Unrestored()}, err
}

// Fork gives the session to the checkpoints of the session from whose Seq is at
// most through, with their ids; 0 means all. No content is copied.
func (s *Store) Fork(ctx context.Context, from, to string, through int64) error {
	return s.inner().Fork(ctx, from, to, through)
}

// Drop removes the checkpoints of sessions, and the content that no other checkpoint needs.
func (s *Store) Drop(ctx context.Context, sessions ...string) error {
	return s.inner().Drop(ctx, sessions...)
}

// Verify reads everything that checkpoints need. It fails with an error for each file of the
// store that is missing or damaged, and changes nothing.
func (s *Store) Verify(ctx context.Context) error {
	list, err := s.inner().Verify(ctx)
	errs := []error{err}
	for _, d := range list {
		errs = append(errs, fmt.Errorf("%s: %s", d.File, d.Problem))
	}
	return errors.Join(errs...)
}
