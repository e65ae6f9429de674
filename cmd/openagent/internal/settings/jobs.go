package settings

import (
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/config"
)

// notForJobs are the prompt flags that make no sense for unattended runs.
var notForJobs = []string{"print", "output-format", "input-format", "include-partial-messages", "permission-prompt-tool",
	"resume", "continue", "fork-session", "resume-at", "session-id", "file", "live"}

// LocationFlags are the prompt flags for commands that run no prompt: working folder, settings and
// logging.
func (o *Options) LocationFlags() cli.Flags {
	return o.Flags().Named("cwd", "settings", "setting-sources", "log-level", "log-format", "debug")
}

// SettingFlags are the prompt flags that set settings, and the LocationFlags.
func (o *Options) SettingFlags() cli.Flags {
	names := []string{"dangerously-skip-permissions", "session-dir"}
	for _, k := range config.Keys() {
		names = append(names, k.Flag)
	}
	return append(o.Flags().Named(names...), o.LocationFlags()...)
}

// JobFlags are the prompt flags that apply to jobs.
func (o *Options) JobFlags() cli.Flags {
	return slices.DeleteFunc(o.Flags(), func(f cli.Flag) bool { return slices.Contains(notForJobs, f.Name) })
}
