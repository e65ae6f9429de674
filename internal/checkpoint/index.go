package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
)

// An index is the last known state of the files of a working tree, by path. It only saves
// time: without it all files are read.
type index map[string]known

type known struct {
	signature
	sum sum
}

const (
	indexHeader = "openagent index 1\n"
	maxIndex    = 1 << 30 // bytes
)

// treeFolder is where the store keeps the index of a working tree.
func treeFolder(root string) []string {
	x := sha256.Sum256([]byte(root))
	return []string{"trees", hex.EncodeToString(x[:16])}
}

// loadIndex returns an empty index if there is none, or none that can be read.
func (s *Store) loadIndex(root string) index {
	data, err := s.read(maxIndex, append(treeFolder(root), "index")...)
	if err != nil {
		return index{}
	}
	ix, ok := decodeIndex(data)
	if !ok {
		return index{}
	}
	return ix
}

func decodeIndex(data []byte) (index, bool) {
	rest, ok := bytes.CutPrefix(data, []byte(indexHeader))
	if !ok || len(rest) < crc32.Size {
		return nil, false
	}
	rest, check := rest[:len(rest)-crc32.Size], rest[len(rest)-crc32.Size:]
	if crc32.Checksum(rest, castagnoli) != binary.LittleEndian.Uint32(check) {
		return nil, false
	}
	ix := make(index, len(rest)/128)
	text := string(rest) // the paths share it
	for at := 0; at < len(rest); {
		var fields [5]uint64
		for i := range fields {
			n, length := binary.Uvarint(rest[at:])
			if length <= 0 {
				return nil, false
			}
			fields[i] = n
			at += length
		}
		length := fields[0]
		if length > maxText || uint64(len(rest)-at) < length+uint64(sumSize) {
			return nil, false
		}
		k := known{signature: signature{size: int64(fields[1]), mtime: int64(fields[2]), change: int64(fields[3]), inode: fields[4]}}
		path := text[at : at+int(length)]
		at += int(length)
		copy(k.sum[:], rest[at:])
		at += sumSize
		ix[path] = k
	}
	return ix, true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// saveIndex records the files whose changes will show in their stamps.
func (s *Store) saveIndex(root string, top *node, size int) error {
	data := make([]byte, 0, size+len(indexHeader)+crc32.Size)
	data = append(data, indexHeader...)
	data = appendKnown(data, top, "")
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data[len(indexHeader):], castagnoli))
	if err := s.save(data, append(treeFolder(root), "index")...); err != nil {
		return fmt.Errorf("storing the index of the files: %w", err)
	}
	return nil
}

func appendKnown(data []byte, dir *node, path string) []byte {
	for _, n := range dir.in {
		at := join(path, n.name)
		switch {
		case n.kind == folder:
			data = appendKnown(data, n, at)
		case n.kind == file && n.settled:
			for _, field := range [...]uint64{uint64(len(at)), uint64(n.signature.size), uint64(n.signature.mtime), uint64(n.signature.change), n.signature.inode} {
				data = binary.AppendUvarint(data, field)
			}
			data = append(data, at...)
			data = append(data, n.sum[:]...)
		}
	}
	return data
}
