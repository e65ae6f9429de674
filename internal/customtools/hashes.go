package customtools

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
)

const (
	// settled is how long ago a file must have changed for its hash to be remembered:
	// the clocks of file systems are coarse, and a second change right after the first
	// may not be seen in them.
	settled = 2 * time.Second
	// maxHashes bounds how many hashes are remembered.
	maxHashes = 4 * maxEntries
)

// hashes are those of files, remembered while these have not changed. The zero
// value is ready, and safe for concurrent use.
type hashes struct {
	settled time.Duration // 0 is settled; tests do not wait

	mu    sync.Mutex
	known map[string]hashed
}

type hashed struct {
	stamp stamp
	sum   string
}

// file returns the hash of the file at path.
func (h *hashes) file(path string) (string, error) {
	if s, ok := stampAt(path); ok {
		h.mu.Lock()
		k, ok := h.known[path]
		h.mu.Unlock()
		if ok && k.stamp == s {
			return k.sum, nil
		}
	}
	f, err := plainfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	stamp, ok := stampOf(f)
	ok = ok && time.Since(stamp.changed()) > cmp.Or(h.settled, settled)
	content := sha256.New()
	n, err := io.Copy(content, io.LimitReader(f, maxBytes+1))
	if err == nil && n > maxBytes {
		err = fmt.Errorf("%s has more than %d MB", path, maxBytes>>20)
	}
	if err != nil {
		return "", err
	}
	sum := hex.EncodeToString(content.Sum(nil))
	if ok {
		h.mu.Lock()
		if h.known == nil || len(h.known) >= maxHashes {
			h.known = map[string]hashed{}
		}
		h.known[path] = hashed{stamp, sum}
		h.mu.Unlock()
	}
	return sum, nil
}
