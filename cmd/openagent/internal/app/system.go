package app

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

//go:embed system.md
var systemText string

// systemPrompt returns the built-in instructions. They hold the date without a time, so that all
// requests of a day begin with the same bytes.
func systemPrompt(dir string, now time.Time) string {
	git := "no"
	if inGit(dir) {
		git = "yes"
	}
	return strings.NewReplacer("{{dir}}", dir, "{{git}}", git, "{{platform}}", runtime.GOOS+"/"+runtime.GOARCH,
		"{{date}}", now.Format(time.DateOnly)).Replace(strings.TrimSpace(systemText))
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

// surroundings returns the lines of the built-in instructions about the agent's environment.
func surroundings(dir string, now time.Time) string {
	all := systemPrompt(dir, now)
	return all[strings.LastIndex(all, "\nWorking folder: ")+1:]
}

// instructions builds the system prompt from the flags, the agent's definition and the built-in
// text.
func (s *App) instructions() (string, error) {
	o, dir := s.Options, s.Project
	system := ""
	switch {
	case s.definition != nil:
		system = s.definition.Agent.System
		for _, name := range s.definition.Skills {
			text, err := s.skillText(context.Background(), name)
			if err != nil {
				return "", cli.Usagef("--agent %s: %w", s.definition.Agent.Name, err)
			}
			system += "\n\n" + text
		}
		system += "\n\n" + surroundings(dir, time.Now())
	case o.System == "":
		system = systemPrompt(dir, time.Now())
	default:
		given, err := settings.TextOrFile("--system-prompt", o.System)
		if err != nil {
			return "", err
		}
		system = given
	}
	if o.Append == "" {
		return system, nil
	}
	added, err := settings.TextOrFile("--append-system-prompt", o.Append)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(system + "\n\n" + strings.TrimSpace(added)), nil
}
