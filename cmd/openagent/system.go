package main

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

//go:embed system.md
var systemText string

// systemPrompt returns our own instructions. The date is that of the day, so
// that requests of one day begin with the same bytes.
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

// surroundings are the lines of our instructions that say where the agent is.
func surroundings(dir string, now time.Time) string {
	all := systemPrompt(dir, now)
	return all[strings.LastIndex(all, "\nWorking folder: ")+1:]
}

// instructions puts the system prompt together from the flags, the kind of the agent
// and our own.
func (s *setup) instructions() (string, error) {
	o, dir := s.options, s.project
	system := ""
	switch {
	case s.kind != nil:
		system = s.kind.Agent.System
		for _, name := range s.kind.Skills {
			text, err := s.skillText(context.Background(), name)
			if err != nil {
				return "", cli.Usagef("--agent %s: %w", s.kind.Agent.Name, err)
			}
			system += "\n\n" + text
		}
		system += "\n\n" + surroundings(dir, time.Now())
	case o.system == "":
		system = systemPrompt(dir, time.Now())
	default:
		given, err := textOrFile("--system-prompt", o.system)
		if err != nil {
			return "", err
		}
		system = given
	}
	if o.append == "" {
		return system, nil
	}
	added, err := textOrFile("--append-system-prompt", o.append)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(system + "\n\n" + strings.TrimSpace(added)), nil
}
