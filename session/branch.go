package session

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/safefile"
)

// branchAt returns the branch that git has checked out in the folder dir or the nearest one
// above it that is a working tree, "" if there is none. It runs no program: it reads
// .git/HEAD or, in a linked working tree, the file that .git names.
func branchAt(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		git := filepath.Join(dir, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir():
			return branchOf(git)
		case err == nil:
			linked, ok := strings.CutPrefix(firstLine(git), "gitdir: ")
			if !ok {
				return ""
			}
			if !filepath.IsAbs(linked) {
				linked = filepath.Join(dir, linked)
			}
			return branchOf(linked)
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

func branchOf(git string) string {
	branch, ok := strings.CutPrefix(firstLine(filepath.Join(git, "HEAD")), "ref: refs/heads/")
	if !ok {
		return "" // a commit without a branch
	}
	return branch
}

// firstLine returns the first line of a small regular file, "" if there is none.
func firstLine(name string) string {
	f, err := safefile.Open(name, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.ToValidUTF8(strings.TrimSpace(line), "")
}
