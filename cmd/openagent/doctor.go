package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/tool"
)

// A finding is what doctor says of one thing.
type finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func doctorCommand(h *host) cli.Command {
	format := ""
	return cli.Command{Name: "doctor", Summary: "Check the parts that openagent needs", Examples: []string{"openagent doctor"}, Flags: func() cli.Flags { return listFlags(&format) }, Run: func(ctx context.Context, args []string) error {
		if err := none("doctor", args); err != nil {
			return err
		}
		findings := h.examine(ctx)
		var rows [][]string
		healthy := true
		for _, f := range findings {
			mark := "ok"
			if !f.OK {
				mark, healthy = "!!", false
			}
			rows = append(rows, []string{mark, f.Name, f.Detail})
		}
		if err := h.list(format, findings, "", rows); err != nil {
			return err
		}
		if !healthy {
			return cli.Ended(cli.ExitUsage)
		}
		return nil
	}}
}

func (h *host) examine(ctx context.Context) []finding {
	list := []finding{
		{"version", true, fmt.Sprintf("%s, %s, %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)},
		program("git", "version control is not there for the agent", "git"),
		program("shell", "the tool Bash needs bash or sh in PATH", "bash", "sh"),
		h.examineHome(),
		h.examineSettings(),
		h.examineProvider(ctx),
		h.examineContext(ctx),
		h.examineSandbox(),
		h.examineSearch(),
		examineOutputs(),
		h.examineKept(ctx),
		h.examineCache(ctx),
		{"terminal", true, fmt.Sprintf("stdin %s, stdout %s, TERM=%s", terminalWord(h.inTerminal), terminalWord(h.outTerminal), cmp.Or(h.getenv("TERM"), "not set"))},
	}
	return list
}

func terminalWord(yes bool) string {
	if yes {
		return "terminal"
	}
	return "no terminal"
}

// program looks for one of several programs.
func program(name, missing string, files ...string) finding {
	for _, f := range files {
		if path, err := exec.LookPath(f); err == nil {
			return finding{name, true, path}
		}
	}
	return finding{name, false, missing}
}

func (h *host) examineHome() finding {
	const name = "home"
	home, err := h.home()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	if err := os.MkdirAll(filepath.Join(home, "sessions"), 0o700); err != nil {
		return finding{name, false, fmt.Sprintf("sessions cannot be kept: %v; set OPENAGENT_HOME", err)}
	}
	f, err := os.CreateTemp(home, ".doctor-")
	if err != nil {
		return finding{name, false, fmt.Sprintf("sessions cannot be kept: %v; set OPENAGENT_HOME", err)}
	}
	f.Close()
	os.Remove(f.Name())
	return finding{name, true, filepath.Join(home, "sessions") + " can be written"}
}

func (h *host) examineSearch() finding {
	const name = "search"
	if s := h.searchEngine(); s.value != "" {
		return finding{name, true, searchName + " by " + s.source}
	}
	return finding{name, true, "no " + searchName + ": set one of " + strings.Join(searchVariables, ", ")}
}

// examineOutputs tells of the outputs that were too long for the model.
func examineOutputs() finding {
	const name = "outputs"
	dir, err := tool.OutputDir()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	files, bytes, err := tool.KeptOutputs()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	return finding{name, true, fmt.Sprintf("%d long outputs in %s, %d of at most %d MB", files, dir, bytes>>20, tool.OutputQuota>>20)}
}

// examineKept tells what is kept for bringing files back.
func (h *host) examineKept(ctx context.Context) finding {
	const name = "checkpoints"
	kept, settings, err := h.keptFilesHere()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	u, err := kept.Usage(ctx)
	if err != nil {
		return finding{name, false, fmt.Sprintf("what is kept of files cannot be read: %v", err)}
	}
	detail := fmt.Sprintf("%s of %s in %s, %s of at most %d MB", plural(u.Checkpoints, "checkpoint"), plural(u.Sessions, "session"), kept.Dir, megabytes(u.Bytes), quotaOf(kept)>>20)
	if orphans, err := orphansOf(ctx, kept); err == nil && len(orphans) > 0 {
		detail += fmt.Sprintf("; %s gone: openagent sessions prune drops what is kept for them", plural(len(orphans), "session"))
	}
	if !keepsFiles(settings) {
		detail += "; " + keepsFilesKey + " is false, no more are made"
	}
	return finding{name, true, detail}
}

// examineSettings tells which files of settings there are, and what in them has
// no effect.
func (h *host) examineSettings() finding {
	const name = "settings"
	dir, err := workingDir()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	s, err := config.Load(h.sources(new(options), dir))
	if err != nil {
		return finding{name, false, unsettled(err).Error()}
	}
	var words []string
	for _, f := range s.Files() {
		switch needs := s.Needs(f); {
		case len(needs) > 0:
			words = append(words, f.Path+" is not trusted, ignored: "+needed(needs))
		case f.Exists:
			words = append(words, f.Path)
		}
	}
	ok := true
	for _, p := range s.Problems() {
		words = append(words, p.Error())
		ok = ok && p.Kind == config.Idle
	}
	if words == nil {
		words = []string{"no file"}
	}
	return finding{name, ok, strings.Join(words, "; ")}
}

func (h *host) examineProvider(ctx context.Context) finding {
	const name = "provider"
	dir, err := workingDir()
	if err != nil {
		return finding{name, false, err.Error()}
	}
	o, err := h.configure(ctx, new(options), dir, false)
	if err != nil {
		return finding{name, false, err.Error()}
	}
	p, err := h.provider(o)
	if err != nil {
		return finding{name, false, err.Error()}
	}
	h.secrets = p.secrets()
	if platform(p.name.value) {
		found, err := p.found(ctx)
		detail := fmt.Sprintf("%s, model %s, %s", p.name.value, p.model.value, found)
		if err != nil {
			return finding{name, false, fmt.Sprintf("%s, model %s: %s", p.name.value, p.model.value, h.oneLine(err.Error()))}
		}
		return finding{name, true, detail}
	}
	detail := fmt.Sprintf("%s, model %s, %s", p.name.value, p.model.value, p.base.value)
	switch {
	case p.needsKey():
		return finding{name, false, detail + ", no key: set " + strings.Join(p.noKey().own(), " or ") + ", or try openagent demo"}
	case p.helper != nil:
		return finding{name, true, detail + ", key from the command of apiKeyHelper"}
	case p.key.value == "":
		return finding{name, true, detail + ", no key and none needed"}
	}
	return finding{name, true, detail + ", key from " + p.key.source}
}
