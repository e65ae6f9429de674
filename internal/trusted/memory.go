package trusted

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"path/filepath"
	"slices"
	"time"
)

// keptSums is how many contents of an entry stay trusted, so that you can undo changes and a
// writer that is killed loses none.
const keptSums = 8

// EntrySum returns the sum of a memory entry's file.
func EntrySum(content []byte) string {
	sum := sha256.Sum256(content)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// hasEntry reports whether the file of a memory entry is trusted.
func (l List) hasEntry(path, sum string) bool {
	return slices.Contains(l.Memory[filepath.Dir(path)][filepath.Base(path)], sum)
}

// AddEntry adds the content of a memory entry's file.
func (l List) AddEntry(path, sum string) {
	folder, name := filepath.Dir(path), filepath.Base(path)
	files := l.Memory[folder]
	if files == nil {
		files = map[string][]string{}
		l.Memory[folder] = files
	}
	sums := append(slices.DeleteFunc(files[name], func(s string) bool { return s == sum }), sum)
	files[name] = sums[max(0, len(sums)-keptSums):]
}

// Entries keeps which memory entries of projects the user has accepted. It is a memory.Trust.
type Entries struct {
	Home string // the folder of the user's own files
}

// Trusted reports whether the user has accepted the content of an entry's file. If the list cannot
// be read, no content is trusted.
func (e Entries) Trusted(path string, content []byte) bool {
	l, err := Read(e.Home)
	return err == nil && l.hasEntry(path, EntrySum(content))
}

// Add records that the user accepts the content of an entry's file.
func (e Entries) Add(path string, content []byte) error {
	sum := EntrySum(content)
	if l, err := Read(e.Home); err == nil && l.hasEntry(path, sum) {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	return Change(ctx, e.Home, func(l List) { l.AddEntry(path, sum) })
}
