package faultdisk

import (
	"io/fs"
	"maps"
	"slices"
	"time"
)

// A node is a file or a folder. The lock of its disk guards it.
type node struct {
	disk     *Disk
	mode     fs.FileMode
	modified time.Time

	// Of a file: its bytes as programs see them, those that a sync has brought to the disk, and
	// the changes since.
	data    []byte
	stable  []byte
	pending []change

	// Of a folder, in the same way.
	entries map[string]*node // nil: it is a file
	synced  map[string]*node
	changes []entryChange

	locked map[*file]bool // who holds the lock; false: shared
}

// A change is a change of a file's content.
type change struct {
	off  int64
	data []byte // nil: the file gets the size off
	lost bool   // a sync has failed to write it, and later ones do not try it again
}

// An entryChange is a change of a folder's names. A rename within a folder is one change.
type entryChange struct {
	names map[string]*node // nil: removed
	move  *move            // nil: no other folder takes part
}

// A move is a rename from a folder to another. It survives in both or in neither.
type move struct{ decided, survives bool }

func (d *Disk) newFile(mode fs.FileMode) *node {
	return &node{disk: d, mode: mode.Perm(), modified: d.now()}
}

func (d *Disk) newFolder(mode fs.FileMode) *node {
	return &node{disk: d, mode: fs.ModeDir | mode.Perm(), modified: d.now(), entries: map[string]*node{}, synced: map[string]*node{}}
}

func (n *node) folder() bool { return n.entries != nil }

// write changes the bytes from off on.
func (n *node) write(off int64, p []byte) {
	if len(p) == 0 {
		return
	}
	n.pending = append(n.pending, change{off: off, data: slices.Clone(p)})
	n.data = apply(n.data, off, p)
	n.modified = n.disk.now()
}

// truncate gives the file a size.
func (n *node) truncate(size int64) {
	n.pending = append(n.pending, change{off: size})
	n.data = resize(n.data, size)
	n.modified = n.disk.now()
}

// sync makes the changes stable, except those that a failed sync has dropped.
func (n *node) sync() {
	for _, c := range n.pending {
		if !c.lost {
			n.stable = c.apply(n.stable)
		}
	}
	n.pending = nil
	if len(n.stable) != len(n.data) { // the size is kept elsewhere, and not dropped
		n.stable = resize(n.stable, int64(len(n.data)))
	}
}

// drop forgets the changes, as a system does that could not write them.
func (n *node) drop() {
	for i := range n.pending {
		n.pending[i].lost = true
	}
}

// set changes names of a folder.
func (n *node) set(names map[string]*node) { n.setWith(nil, names) }

func (n *node) setWith(m *move, names map[string]*node) {
	for name, to := range names {
		if to == nil {
			delete(n.entries, name)
		} else {
			n.entries[name] = to
		}
	}
	n.changes = append(n.changes, entryChange{names, m})
	n.modified = n.disk.now()
}

// syncNames makes the names stable.
func (n *node) syncNames() {
	for _, c := range n.changes {
		if c.move != nil {
			*c.move = move{decided: true, survives: true}
		}
	}
	n.synced, n.changes = maps.Clone(n.entries), nil
}

func (c change) apply(data []byte) []byte {
	if c.data == nil {
		return resize(data, c.off)
	}
	return apply(data, c.off, c.data)
}

func apply(data []byte, off int64, p []byte) []byte {
	if end := off + int64(len(p)); end > int64(len(data)) {
		data = resize(data, end)
	}
	copy(data[off:], p)
	return data
}

// resize cuts data, or appends zeros.
func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size] // what follows is not to come back
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

// free reports whether nobody but f holds the lock in the way of it.
func (n *node) free(f *file, exclusive bool) bool {
	for other, ex := range n.locked {
		if other != f && (exclusive || ex) {
			return false
		}
	}
	return true
}

// An info describes a node at a moment.
type info struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
	of       *node
}

func (n *node) info(name string) info {
	return info{name, int64(len(n.data)), n.mode, n.modified, n}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.modified }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// SameFile implements [safefile.Identity].
func (i info) SameFile(other fs.FileInfo) bool {
	o, ok := other.(info)
	return ok && o.of == i.of
}
