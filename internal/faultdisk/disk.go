// Package faultdisk has a disk in memory that loses what was not synced, for tests of
// everything that package safefile reads and writes: the stores of sessions, teams, schedules,
// triggers, quotas and checkpoints.
//
// Bytes become durable when their file is synced; names, when their folder is. After a power
// loss any part of the rest may have survived. A program that is killed loses nothing that it
// has written, and its locks. Everything follows from the seed.
//
//	disk := faultdisk.New(seed)
//	first := disk.Start()                     // a process
//	first.KillAt(17)                          // at its 17th change of files
//	store := session.Dir(first.Path("sessions"))
//	…                                         // until operations fail with ErrDead
//	disk.PowerLoss()                          // or not: then it was a kill
//	second := disk.Start()
//	store = session.Dir(second.Path("sessions")) // what is left
//
// Two running programs share files and exclude each other by locks, as processes do. The
// limit of the disk and errors of single operations are fields of [Disk].
package faultdisk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

const (
	top       = "disk" // the folder in the root that programs use, so that it has a parent
	sector    = 512
	blockSize = 4 << 10 // that a new file or folder takes
)

// A Disk holds files in memory. Set its fields before programs use it, or while they wait.
type Disk struct {
	// Ask is called before each operation, of all programs, and fails it with the error that it
	// returns. A write that fails writes a part. A sync that fails drops what it should have
	// brought to the disk: later syncs of the file do not try it again. Ask must not use the disk.
	Ask   func(Op) error
	Limit int64            // bytes; 0: none
	Now   func() time.Time // nil: time.Now
	// Ordered makes the changes of a file and of a folder's names durable in their order, as
	// most file systems do. Otherwise later ones may survive without earlier ones.
	Ordered bool
	// Name is a part of the names of its folders. Those of a disk with a Name are the same in
	// each run, so no other disk may have it. "": they have a number of the process.
	Name string

	mu       sync.Mutex
	rand     *rand.Rand
	root     *node
	programs map[*Program]bool
	starts   int // of programs
}

// New returns an empty disk.
func New(seed uint64) *Disk {
	d := &Disk{rand: rand.New(rand.NewPCG(seed, 1)), programs: map[*Program]bool{}}
	d.root = d.newFolder(0o700)
	d.root.set(map[string]*node{top: d.newFolder(0o700)})
	d.root.syncNames()
	return d
}

var started atomic.Int64

// Start starts a program that uses the disk, until it is killed.
func (d *Disk) Start() *Program {
	p := &Program{disk: d, files: map[*file]bool{}, died: make(chan struct{})}
	d.mu.Lock()
	d.starts++
	number := filepath.Join(d.Name, fmt.Sprint(d.starts))
	d.mu.Unlock()
	if d.Name == "" {
		number = fmt.Sprint(started.Add(1))
	}
	name, err := filepath.Abs(filepath.Join(string(filepath.Separator), "faultdisk", number))
	if err != nil {
		panic(err) // the working folder is gone
	}
	p.mount, p.folder = name, filepath.Join(name, top)
	p.leave = safefile.Mount(name, p)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.programs[p] = true
	return p
}

// PowerLoss kills all programs. What was synced survives, and a random part of the rest.
func (d *Disk) PowerLoss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.programs {
		p.kill()
	}
	clear(d.programs)
	d.settle(d.root, map[*node]bool{})
}

// Leave kills all programs and ends the use of the disk.
func (d *Disk) Leave() {
	d.mu.Lock()
	programs := slices.Collect(maps.Keys(d.programs))
	d.mu.Unlock()
	for _, p := range programs {
		p.Leave()
	}
}

func (d *Disk) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// left returns how many bytes fit on the disk.
func (d *Disk) left() int64 {
	used := int64(0)
	seen := map[*node]bool{}
	var count func(*node)
	count = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		used += blockSize + int64(len(n.data))
		for _, in := range n.entries {
			count(in)
		}
	}
	count(d.root)
	return max(d.Limit-used, 0)
}

// room returns an error if the bytes do not fit on the disk.
func (d *Disk) room(bytes int64) error {
	if d.Limit > 0 && d.left() < bytes {
		return syscall.ENOSPC
	}
	return nil
}

// Dump lists the folders and files, with their sizes.
func (d *Disk) Dump() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	var list func(n *node, path string)
	list = func(n *node, path string) {
		for _, name := range sortedNames(n.entries) {
			in := n.entries[name]
			at := path + name
			if in.folder() {
				fmt.Fprintf(&b, "%s/\n", at)
				list(in, at+"/")
				continue
			}
			fmt.Fprintf(&b, "%s %d\n", at, len(in.data))
		}
	}
	list(d.root.entries[top], "")
	return b.String()
}

func sortedNames(entries map[string]*node) []string { return slices.Sorted(maps.Keys(entries)) }

// settle decides what of the unsynced changes below n has survived. All is durable afterwards.
func (d *Disk) settle(n *node, done map[*node]bool) {
	if done[n] {
		return
	}
	done[n] = true
	clear(n.locked)
	if !n.folder() {
		n.data = d.torn(n)
		n.stable, n.pending = slices.Clone(n.data), nil
		return
	}
	n.entries = maps.Clone(n.synced)
	for _, c := range d.survivors(n.changes) {
		for name, to := range c.names {
			if to == nil {
				delete(n.entries, name)
			} else {
				n.entries[name] = to
			}
		}
	}
	n.synced, n.changes = maps.Clone(n.entries), nil
	for _, name := range sortedNames(n.entries) {
		d.settle(n.entries[name], done)
	}
}

// survivors chooses changes of a folder, in their order: none, all, the first, or any.
func (d *Disk) survivors(all []entryChange) (some []entryChange) {
	how := d.rand.IntN(4)
	first := d.rand.IntN(len(all) + 1)
	for i, c := range all {
		survives := how == 1 || how == 2 && i < first || how == 3 && i < first
		if how == 3 && !d.Ordered {
			survives = d.rand.IntN(2) == 0
		}
		if c.move != nil {
			if !c.move.decided {
				*c.move = move{decided: true, survives: survives}
			}
			survives = c.move.survives
		}
		if survives {
			some = append(some, c)
		}
	}
	return some
}

// torn returns the bytes of a file that have survived: what was synced, and of what was written
// since nothing, everything, the beginning, or some sectors. What is missing before the end of
// the file is zeros.
func (d *Disk) torn(n *node) []byte {
	var kept []change
	for _, c := range n.pending {
		if !c.lost || d.rand.IntN(2) == 0 {
			kept = append(kept, c)
		}
	}
	data := slices.Clone(n.stable)
	if len(kept) == 0 {
		return data
	}
	switch d.rand.IntN(4) {
	case 0:
		return data
	case 1:
		return applyAll(data, kept)
	case 2:
		if !d.Ordered {
			return d.someSectors(data, kept)
		}
	}
	last := d.rand.IntN(len(kept))
	data = applyAll(data, kept[:last])
	c := kept[last]
	if c.data == nil {
		return data
	}
	// The write was cut off at a sector, and perhaps the file has its new size already.
	end := int64(len(data))
	size := c.off + int64(len(c.data))
	cut := d.rand.Int64N(size/sector+1) * sector
	if cut > c.off {
		data = apply(data, c.off, c.data[:min(cut, size)-c.off])
	}
	if size > end && int64(len(data)) < size && d.rand.IntN(2) == 0 {
		data = resize(data, size)
	}
	return data
}

func applyAll(data []byte, all []change) []byte {
	for _, c := range all {
		data = c.apply(data)
	}
	return data
}

// someSectors applies a part of the sectors of the changes.
func (d *Disk) someSectors(data []byte, all []change) []byte {
	for _, c := range all {
		if c.data == nil {
			if d.rand.IntN(2) == 0 {
				data = c.apply(data)
			}
			continue
		}
		for from := c.off; from < c.off+int64(len(c.data)); {
			to := min((from/sector+1)*sector, c.off+int64(len(c.data)))
			if d.rand.IntN(2) == 0 {
				data = apply(data, from, c.data[from-c.off:to-c.off])
			}
			from = to
		}
	}
	return data
}
