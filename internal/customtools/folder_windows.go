package customtools

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// executable reports whether Windows can start a file by itself.
func executable(info fs.FileInfo) bool {
	return slices.Contains([]string{".exe", ".com", ".bat", ".cmd"}, strings.ToLower(filepath.Ext(info.Name())))
}

// openToAll is false: who may write is in lists of access here, which modes do
// not show.
func openToAll(fs.FileInfo) bool { return false }

// A stamp would tell whether a file has changed. On Windows a writer can set all times of a
// file, so the file is read each time.
type stamp struct{}

func (stamp) changed() time.Time { return time.Now() }

func stampAt(string) (stamp, bool) { return stamp{}, false }

func stampOf(*os.File) (stamp, bool) { return stamp{}, false }
