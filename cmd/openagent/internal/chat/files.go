package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/fuzzy"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/walk"
)

// folder is where the UI keeps what was typed in this working folder.
func (c *Chat) folder() (string, error) {
	home, err := c.h.Home()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(c.s.Project))
	return filepath.Join(home, "terminal", hex.EncodeToString(sum[:8])), nil
}

// branch is the git branch of a folder, "" for none.
func branch(dir string) string {
	for {
		data, err := plainfile.ReadFile(filepath.Join(dir, ".git", "HEAD"), 4096)
		if err == nil {
			name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/")
			if !ok {
				return "detached"
			}
			return name
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// fileNames are the names of the files of the working folder.
type fileNames struct {
	asked atomic.Int64 // number of the last query

	mu   sync.Mutex
	list []string
	read time.Time
}

const (
	maxNames  = 50_000
	fileTime  = 5 * time.Second // after which the folder is read again
	maxFound  = 50
	walkLimit = 2 * time.Second
)

// listFiles finds the files whose names fit a query, which is the one of a number.
func (c *Chat) listFiles(ctx context.Context, query string, number int64) {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	if number < c.files.asked.Load() {
		return // the person has typed on
	}
	if time.Since(c.files.read) > fileTime {
		c.files.list, c.files.read = readNames(ctx, c.s.Project), time.Now()
	}
	var names []string
	for _, m := range fuzzy.Find(query, c.files.list, maxFound) {
		names = append(names, c.files.list[m.Index])
	}
	c.post(ui.Files{Query: query, Names: names})
}

func readNames(ctx context.Context, dir string) []string {
	ctx, cancel := context.WithTimeout(ctx, walkLimit)
	defer cancel()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	rules, prefix := walk.Above(dir, "")
	found, err := (&walk.Walk{Root: root, Rules: rules, Prefix: prefix, Max: maxNames}).List(ctx)
	if err != nil {
		return nil
	}
	names := make([]string, len(found.Files))
	for i, f := range found.Files {
		names[i] = f.Path
	}
	return names
}
