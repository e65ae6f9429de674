package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"testing"
)

// Rewrite makes a checkpoint one of a version to come.
func Rewrite(t *testing.T, s *Store, c Checkpoint) {
	data, err := json.Marshal(saved{recordVersion + 1, c})
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	x := sha256.Sum256(data)
	data = append(data, hex.EncodeToString(x[:])+"\n"...)
	if err := s.save(data, append(sessionFolder(c.Session), c.ID+recordEnd)...); err != nil {
		t.Fatal(err)
	}
}

// Op is a kind of writing to the disk.
type Op string

// The disk operations of a store.
const (
	Open   Op = "open"
	Write  Op = "write"
	Close  Op = "close"
	Rename Op = "rename"
	Remove Op = "remove"
)

// Fail makes the store's disk ask before each operation whether it fails.
func (s *Store) Fail(ask func(Op) error) { s.disk = brokenDisk{system{}, ask} }

type brokenDisk struct {
	disk
	ask func(Op) error
}

func (f brokenDisk) open(path string, flag int) (io.WriteCloser, error) {
	if err := f.ask(Open); err != nil {
		return nil, err
	}
	w, err := f.disk.open(path, flag)
	return failingFile{w, f.ask}, err
}

func (f brokenDisk) rename(from, to string) error {
	if err := f.ask(Rename); err != nil {
		return err
	}
	return f.disk.rename(from, to)
}

func (f brokenDisk) remove(path string) error {
	if err := f.ask(Remove); err != nil {
		return err
	}
	return f.disk.remove(path)
}

type failingFile struct {
	io.WriteCloser
	ask func(Op) error
}

// Write writes a half before it fails, as a full disk does.
func (f failingFile) Write(p []byte) (int, error) {
	if err := f.ask(Write); err != nil {
		n, _ := f.WriteCloser.Write(p[:len(p)/2])
		return n, err
	}
	return f.WriteCloser.Write(p)
}

func (f failingFile) Close() error {
	err := f.ask(Close)
	if e := f.WriteCloser.Close(); err == nil {
		err = e
	}
	return err
}
