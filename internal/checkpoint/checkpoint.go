// Package checkpoint keeps snapshots of folders, so that you can bring their files
// back, no matter who changed them. A checkpoint covers all files that git does not
// ignore. Each content is stored once, however many checkpoints have it.
//
//	store := &checkpoint.Store{Dir: dir}
//	before, err := store.Take(ctx, checkpoint.Mark{Session: "s", Seq: 1}, project)
//	report, err := store.Restore(ctx, "s", before.ID, checkpoint.Restoring{})
package checkpoint

import (
	"errors"
	"fmt"
	"time"
)

// Limits of a store that does not say otherwise.
const (
	DefaultQuota   = 1 << 30
	DefaultMaxAge  = 30 * 24 * time.Hour
	DefaultMaxFile = 32 << 20
)

// Errors of stores.
var (
	// ErrNotFound is matched by errors about a checkpoint that is not there, or no
	// longer.
	ErrNotFound = errors.New("there is no such checkpoint")
	// ErrQuota is matched if the files do not fit into the quota, even if every other
	// checkpoint were dropped.
	ErrQuota = errors.New("the files need more than the quota of checkpoints")
	// ErrTooMany is matched by errors about trees of more than a million files and
	// folders.
	ErrTooMany = errors.New("too many files")
	// ErrVersion is matched where a newer version of the program has written.
	ErrVersion = errors.New("checkpoint was written by a newer version of the program")
)

// A CorruptError names a file of the store that is missing or damaged. Nothing in a working
// tree was changed because of it.
type CorruptError struct {
	File string // absolute
	Err  error
}

func (e *CorruptError) Error() string { return fmt.Sprintf("reading %s: %v", e.File, e.Err) }

func (e *CorruptError) Unwrap() error { return e.Err }

// A Store keeps checkpoints in a folder:
//
//	contents/   of files, named after their SHA-256
//	folders/    lists of what is in a folder, named likewise
//	sessions/   the checkpoints, a file each
//	trees/      for each working tree the index of its files, and a lock
//	tmp/        files being written
//	growth      bytes that were added since the last [Store.Prune]
//	lock        locked, for Prune alone
//
// Folders have mode 0700 and files 0600. Any number of processes may use a store
// at a time. What is written survives the death of the program; a loss of power
// may cost the newest checkpoints, which is noticed when they are used.
type Store struct {
	// Dir is the folder of the store, made with the first checkpoint. It may lie in
	// a working tree, which does not cover it.
	Dir string
	// Quota is how many bytes the store may have, counted in blocks of 4 KiB; 0:
	// [DefaultQuota]. Checkpoints are dropped to stay below it.
	Quota int64
	// MaxAge is how long a checkpoint is kept; 0: [DefaultMaxAge].
	MaxAge time.Duration
	// MaxFile is the size in bytes of the largest files that are covered; 0:
	// [DefaultMaxFile].
	MaxFile int64
	// Apart are folders that are never covered, wherever they lie, such as those of
	// programs that write while files are restored. They need not exist.
	Apart []string

	disk disk // nil: this machine's
}

// A Mark says which point of a session a checkpoint belongs to.
type Mark struct {
	Session string // any text
	Seq     int64  // the place in the session, such as the number of a fact
	Label   string // for people
}

// A Checkpoint is a state of one or several working trees.
type Checkpoint struct {
	ID      string    `json:"id"` // unique and, in a session, ascending
	Session string    `json:"session"`
	Seq     int64     `json:"seq"`
	Label   string    `json:"label,omitempty"`
	Time    time.Time `json:"time"`
	// Undoes is the id of the checkpoint before whose restoring this one was taken.
	Undoes string `json:"undoes,omitempty"`
	Trees  []Tree `json:"trees"`
	// Gaps are the first hundred paths that should be covered and are not; GapCount
	// is how many there are.
	Gaps     []Gap `json:"gaps,omitempty"`
	GapCount int   `json:"gapCount,omitempty"`
	// Excludes are the texts of .git/info/exclude files, by the path of their repository. Nil:
	// they were not recorded.
	Excludes map[string]string `json:"excludes,omitzero"`
}

// A Tree is a working tree in a checkpoint.
type Tree struct {
	Root  string `json:"root"`  // absolute, free of symlinks
	Hash  string `json:"hash"`  // of all covered files, and the names of uncovered ones
	Files int    `json:"files"` // and symlinks
	Bytes int64  `json:"bytes"` // of all files
}

// A Gap is a file or folder that is not covered, or was left as it is, and why.
type Gap struct {
	Root   string `json:"root"`
	Path   string `json:"path"` // relative to Root, with slashes
	Reason string `json:"reason"`
}

const maxGaps = 100 // that a checkpoint lists

func (s *Store) quota() int64 {
	if s.Quota == 0 {
		return DefaultQuota
	}
	return s.Quota
}

func (s *Store) maxAge() time.Duration {
	if s.MaxAge == 0 {
		return DefaultMaxAge
	}
	return s.MaxAge
}

func (s *Store) maxFile() int64 {
	if s.MaxFile == 0 {
		return DefaultMaxFile
	}
	return s.MaxFile
}
