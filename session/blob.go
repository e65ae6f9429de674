package session

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/internal/safefile"
)

// loadBlob returns the content named hash, of at most limit bytes.
func loadBlob(folder, hash string, limit int64) ([]byte, error) {
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 32 {
		return nil, errors.New("its name is not a SHA-256")
	}
	data, err := readBlob(filepath.Join(folder, blobsName, hash), limit)
	if err == nil && newBlob(data).hash != hash {
		err = errors.New("its content was altered")
	}
	return data, err
}

func readBlob(path string, limit int64) ([]byte, error) {
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("its %d bytes are above the limit of %d", info.Size(), limit)
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, info.Size()), data); err != nil {
		return nil, err
	}
	return data, nil
}

// storeBlobs brings blobs to the disk, names included. The caller holds the
// session's lock.
func storeBlobs(folder string, blobs []blob) error {
	folder = filepath.Join(folder, blobsName)
	if err := makeFolder(folder); err != nil {
		return err
	}
	for _, b := range blobs {
		if err := storeBlob(folder, b); err != nil {
			return fmt.Errorf("storing a blob: %w", err)
		}
	}
	return safefile.SyncFolder(folder)
}

// storeBlob writes a blob unless it is there. One that was damaged is replaced.
func storeBlob(folder string, b blob) error {
	path := filepath.Join(folder, b.hash)
	if old, err := readBlob(path, int64(len(b.data))); err == nil && bytes.Equal(old, b.data) {
		return nil
	}
	return safefile.Replacement{Temp: blobPart, Sync: safefile.SyncContent}.Bytes(path, b.data)
}
