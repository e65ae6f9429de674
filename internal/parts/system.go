package parts

import (
	_ "embed"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed system.md
var systemText string

// SystemPrompt returns the built-in instructions for a working folder. They hold the date without a
// time, so that all requests of a day begin with the same bytes.
func SystemPrompt(dir string, now time.Time) string {
	git := "no"
	if inGit(dir) {
		git = "yes"
	}
	return strings.NewReplacer("{{dir}}", dir, "{{git}}", git, "{{platform}}", runtime.GOOS+"/"+runtime.GOARCH,
		"{{date}}", now.Format(time.DateOnly)).Replace(strings.TrimSpace(systemText))
}

// MinimalPrompt returns the instructions of an agent whose program gives none.
func MinimalPrompt(dir string, now time.Time) string {
	return "You are an agent. Use your tools to do what you are asked.\n\n" + Surroundings(dir, now)
}

// Surroundings returns the lines of the built-in instructions about the agent's environment.
func Surroundings(dir string, now time.Time) string {
	all := SystemPrompt(dir, now)
	return all[strings.LastIndex(all, "\nWorking folder: ")+1:]
}

func inGit(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}
