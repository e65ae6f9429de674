package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// A kind is the type of an entry of a folder.
type kind byte

const (
	file    kind = 'f'
	link    kind = 'l'
	folder  kind = 'd'
	gap     kind = 'g' // should be covered but cannot be
	ignored kind = 'i' // not to be covered
)

// covered reports whether entries of the kind can be brought back.
func (k kind) covered() bool { return k == file || k == link || k == folder }

// An entry is a name in a folder.
type entry struct {
	kind kind
	name string
	mode fs.FileMode // permission bits of files and folders
	size int64       // of files
	sum  sum         // of a file's content or a folder's list
	text string      // where a link leads, why there is a gap
}

// same reports whether two entries are equal apart from their children. Either may be nil.
func (e *entry) same(o *entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	return *e == *o
}

// maxText is the length in bytes of the longest name, link and reason.
const maxText = 1 << 16

const listHeader = "openagent folder 1\n"

// encode returns the list of a folder, whose entries are sorted by name.
func encode(in []*node) []byte {
	data := []byte(listHeader)
	for _, n := range in {
		data = append(data, byte(n.kind))
		data = binary.AppendUvarint(data, uint64(len(n.name)))
		data = append(data, n.name...)
		switch n.kind {
		case file:
			data = binary.AppendUvarint(data, uint64(n.mode))
			data = binary.AppendUvarint(data, uint64(n.size))
			data = append(data, n.sum[:]...)
		case folder:
			data = binary.AppendUvarint(data, uint64(n.mode))
			data = append(data, n.sum[:]...)
		case link, gap:
			data = binary.AppendUvarint(data, uint64(len(n.text)))
			data = append(data, n.text...)
		}
	}
	return data
}

var errList = errors.New("not the list of a folder")

// decode reads the list of a folder. It takes nothing that encode does not make.
func decode(data []byte) (list []entry, err error) {
	rest, ok := strings.CutPrefix(string(data), listHeader)
	if !ok {
		return nil, errList
	}
	d := decoder{rest: rest}
	for d.rest != "" && !d.bad {
		e := entry{kind: kind(d.take(1)[0]), name: d.text()}
		switch e.kind {
		case file:
			e.mode, e.size = d.mode(), d.size()
			copy(e.sum[:], d.take(len(e.sum)))
		case folder:
			e.mode = d.mode()
			copy(e.sum[:], d.take(len(e.sum)))
		case link, gap:
			e.text = d.text()
		case ignored:
		default:
			return nil, errList
		}
		if !legal(e) || len(list) > 0 && e.name <= list[len(list)-1].name {
			return nil, errList
		}
		list = append(list, e)
	}
	if d.bad {
		return nil, errList
	}
	return list, nil
}

// legal reports whether an entry may stand in a list: nothing in a repository's
// own folder is ever covered.
func legal(e entry) bool {
	switch {
	case e.name == "", e.name == ".", e.name == "..", strings.ContainsAny(e.name, "/\x00"):
		return false
	case isGit(e.name):
		return e.kind == ignored
	}
	return true
}

// isGit reports whether a name is that of a repository's own folder or file, on
// file systems that do not distinguish case as well.
func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// A decoder reads a list. After an error it returns only empty values.
type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) take(n int) string {
	if n < 0 || n > len(d.rest) {
		d.bad, d.rest = true, ""
		return strings.Repeat("\x00", min(max(n, 1), sumSize))
	}
	text := d.rest[:n]
	d.rest = d.rest[n:]
	return text
}

const sumSize = len(sum{})

func (d *decoder) number(limit uint64) uint64 {
	// The bytes of a number are few: this copies no more.
	n, length := binary.Uvarint([]byte(d.rest[:min(len(d.rest), binary.MaxVarintLen64)]))
	if length <= 0 || n > limit {
		d.bad, d.rest = true, ""
		return 0
	}
	d.rest = d.rest[length:]
	return n
}

func (d *decoder) text() string { return d.take(int(d.number(maxText))) }

func (d *decoder) mode() fs.FileMode { return fs.FileMode(d.number(uint64(fs.ModePerm))) }

func (d *decoder) size() int64 { return int64(d.number(1<<63 - 1)) }

// A lister returns the list of a folder by its sum.
type lister func(sum) ([]entry, error)

// list reads the list of a folder.
func (s *Store) list(x sum) ([]entry, error) {
	data, err := s.load(object{folders, x}, maxList)
	if err != nil {
		return nil, fmt.Errorf("reading a folder of a checkpoint: %w", err)
	}
	list, err := decode(data)
	if err != nil {
		return nil, &CorruptError{s.path(object{folders, x}.place()...), err}
	}
	return list, nil
}

// pair calls yield for each name in a or b, in order, with nil where one of them
// lacks it.
func pair(a, b []entry, yield func(a, b *entry) error) error {
	for len(a) > 0 || len(b) > 0 {
		var x, y *entry
		if len(b) == 0 || len(a) > 0 && a[0].name <= b[0].name {
			x = &a[0]
		}
		if len(a) == 0 || len(b) > 0 && b[0].name <= a[0].name {
			y = &b[0]
		}
		if x != nil {
			a = a[1:]
		}
		if y != nil {
			b = b[1:]
		}
		if err := yield(x, y); err != nil {
			return err
		}
	}
	return nil
}

// join joins a folder's path, "" for the root, and a name.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
