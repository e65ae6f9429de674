package session

import (
	"errors"
	"hash/crc32"
	"os"
)

// Folder and Volatile are the stores that Dir and Memory make.
type (
	Folder   = folderStore
	Volatile = memoryStore
)

// DamagedLine returns the line that an error of damage names, 0 if it is another error.
func DamagedLine(err error) int {
	corrupt, ok := errors.AsType[*corruptError](err)
	if !ok || !errors.Is(err, ErrCorrupt) {
		return 0
	}
	return corrupt.line
}

// Torn returns how many bytes were cut off when l was opened.
func Torn(l Log) int64 { return l.(*journal).torn }

// IsMessage is isMessage.
var IsMessage = isMessage

// Seal closes a line of a journal that someone else has written.
func Seal(line string) string {
	return string(appendCRC([]byte(line), crc32.Checksum([]byte(line), castagnoli))) + "\n"
}

// Failing returns a store whose disk is full at operation number at, counting
// from 1, and a function that tells whether it came to that.
func Failing(path string, at int) (folderStore, func() bool) {
	d := &full{disk: quick{system{}}, at: at}
	return folderStore{Path: path, disk: d}, func() bool { return d.done >= at }
}

// Mortal returns a store that kills the program right before operation number at
// of its disk, counting from 1.
func Mortal(path string, at int) folderStore {
	return folderStore{Path: path, disk: &mortal{disk: system{}, at: at}}
}

// mortal is a disk in the middle of whose work the program ends.
type mortal struct {
	disk disk
	at   int
	done int
}

func (d *mortal) next() {
	if d.done++; d.done == d.at {
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // until the signal is there
	}
}

func (d *mortal) rename(from, to string) error {
	d.next()
	return d.disk.rename(from, to)
}

func (d *mortal) link(from, to string) error {
	d.next()
	return d.disk.link(from, to)
}

func (d *mortal) syncFolder(name string) error {
	d.next()
	return d.disk.syncFolder(name)
}

func (d *mortal) open(name string, flag int) (file, error) {
	d.next()
	f, err := d.disk.open(name, flag)
	if err != nil {
		return nil, err
	}
	return &mortalFile{f, d}, nil
}

type mortalFile struct {
	file
	disk *mortal
}

// Write writes a part before it kills.
func (f *mortalFile) Write(p []byte) (int, error) {
	if f.disk.done+1 == f.disk.at {
		_, _ = f.file.Write(p[:len(p)/2])
	}
	f.disk.next()
	return f.file.Write(p)
}

func (f *mortalFile) Sync() error {
	f.disk.next()
	return f.file.Sync()
}

func (f *mortalFile) Truncate(size int64) error {
	f.disk.next()
	return f.file.Truncate(size)
}

// Found and Done return all that a report holds.
func Found(r *Report) *report    { return &r.found }
func Done(r *Repaired) *repaired { return &r.done }
