package customtools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
)

const (
	// hungFor is how long other programs do not ask a file that hung.
	hungFor = time.Hour
	maxHung = 100 // files that are remembered

	maxHungFile = 64 << 10 // bytes
)

// A hungError is the result of a describe that took too long.
type hungError struct{ patience time.Duration }

func (e hungError) Error() string { return fmt.Sprintf("describe took more than %v", e.patience) }

// A hung is the content of [Set].Hung: until when a file is not asked, by the hash
// of its key, so that one that was changed is.
type hung map[string]time.Time

func hungKey(f file) string {
	sum := sha256.Sum256([]byte(f.key()))
	return hex.EncodeToString(sum[:])
}

// readHung returns the files that hang at present. An unreadable file counts as empty:
// waiting then costs its time once more.
func (s *Set) readHung() hung {
	h := hung{}
	data, err := plainfile.ReadFile(s.Hung, maxHungFile)
	if err != nil || json.Unmarshal(data, &h) != nil {
		return hung{}
	}
	now := time.Now()
	for key, until := range h {
		if until.Before(now) || until.After(now.Add(hungFor)) { // the clock was set back
			delete(h, key)
		}
	}
	return h
}

// addHung records files that have just hung.
func (s *Set) addHung(files []file) error {
	h := s.readHung()
	until := time.Now().Add(hungFor).Truncate(time.Second).UTC()
	for _, f := range files {
		if len(h) < maxHung {
			h[hungKey(f)] = until
		}
	}
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return safefile.Replacement{}.Bytes(s.Hung, data)
}
