package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/openagent-go/agent/internal/safefile"
)

// Dir returns a store that keeps each session in its own folder, named after its id, in the
// folder at path, which is made with the first one:
//
//	journal.jsonl       the facts, one a line, each with a checksum
//	journal.jsonl.torn  unfinished records that were cut off
//	blobs/              contents above 32 KB, named after their SHA-256
//	about.json          the summary for lists, which saves reading the journal
//	lock                locked while someone writes the session
//
// Folders have mode 0700 and files 0600; nothing is written through symbolic
// links. A folder at path that exists already keeps its mode.
//
// The store also implements [Stater], [LastReader], [Nester], [Deleter] and [Waiter].
func Dir(path string) Store { return folderStore{Path: path} }

type folderStore struct {
	Path string // the folder of the sessions
}

// Folder returns the folder of the sessions. The agent and the command find it so.
func (d folderStore) Folder() string { return d.Path }

const (
	journalName = "journal.jsonl"
	tornName    = "journal.jsonl.torn"
	blobsName   = "blobs"
	lockName    = "lock"
	partEnd     = ".part" // of the names of temporary files
	blobPart    = "part"  // the temporary file of a blob
)

var errNoPath = errors.New("the session store has no path")

// folder returns the absolute path of a session's folder.
func (d folderStore) folder(id string) (string, error) {
	if d.Path == "" {
		return "", errNoPath
	}
	if err := CheckID(id); err != nil {
		return "", err
	}
	if !filepath.IsLocal(id) { // a device on Windows, such as NUL
		return "", fmt.Errorf("%w %q: the system reserves it", ErrBadID, id)
	}
	return filepath.Abs(filepath.Join(d.Path, id))
}

// Journal returns the file that a session's facts are in, "" for an illegal id.
func (d folderStore) Journal(id string) string {
	dir, err := d.folder(id)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, journalName)
}

// existing returns the absolute path of the folder of a session that is there.
func (d folderStore) existing(ctx context.Context, id string) (string, error) {
	folder, err := d.folder(id)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return "", err
	}
	for _, name := range []string{folder, filepath.Join(folder, journalName)} {
		switch info, err := safefile.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
			return "", notFound(id)
		case err != nil:
			return "", err
		case info.IsDir() != (name == folder):
			return "", notFound(id) // not made by us
		}
	}
	return folder, nil
}

// Open implements [Store]. An unfinished last record, as a crash leaves it, is cut off,
// stored beside the journal, and an agent reports its length. A session of a newer version is
// refused with [ErrVersion].
func (d folderStore) Open(ctx context.Context, id string, header Header) (Log, error) {
	if err := CheckID(id); err != nil {
		return nil, fmt.Errorf("opening session: %w", err)
	}
	l, err := d.open(ctx, id, header)
	if err != nil {
		return nil, fmt.Errorf("opening session %s: %w", id, err)
	}
	return l, nil
}

func (d folderStore) open(ctx context.Context, id string, header Header) (*journal, error) {
	folder, err := d.folder(id)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return nil, err
	}
	lock, err := begin(folder)
	if err != nil {
		return nil, err
	}
	header.Session, header.Created = id, created(header.Created)
	l := &journal{id: id, folder: folder, path: filepath.Join(folder, journalName), lock: lock}
	if err := l.open(header); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ignoreEOF returns nil for the two ways in which a journal ends.
func ignoreEOF(err error) error {
	if err == io.EOF || err == errTorn {
		return nil
	}
	return err
}

// Delete removes a session and all that is in its folder. It fails with
// [ErrBusy] while someone writes the session, and with [ErrNotFound].
func (d folderStore) Delete(ctx context.Context, id string) error {
	folder, err := d.existing(ctx, id)
	if err != nil {
		return fmt.Errorf("deleting session: %w", err)
	}
	lock, err := acquire(filepath.Join(folder, lockName))
	if err != nil {
		return fmt.Errorf("deleting session: %w", err)
	}
	if err := clearFolder(folder); err != nil {
		return fmt.Errorf("deleting session: %w", errors.Join(err, lock.release()))
	}
	if err := removeLock(lock); err != nil {
		return fmt.Errorf("deleting session: %w", err)
	}
	_ = safefile.Remove(folder) // unless someone is creating the session again
	if err := safefile.SyncFolder(filepath.Dir(folder)); err != nil {
		return fmt.Errorf("deleting session: %w", err)
	}
	return nil
}

// clearFolder removes all files of a session's folder except the lock, the journal last:
// until then the session is still listed and can be deleted again.
func clearFolder(folder string) error {
	entries, err := safefile.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name != lockName && name != journalName {
			if err := safefile.RemoveAll(filepath.Join(folder, name)); err != nil {
				return err
			}
		}
	}
	return safefile.Remove(filepath.Join(folder, journalName))
}
