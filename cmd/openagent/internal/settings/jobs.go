package settings

import (
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
)

// notForJobs are the flags of a prompt that make no sense for what no person waits
// for.
var notForJobs = []string{"print", "output-format", "input-format", "include-partial-messages", "permission-prompt-tool",
	"resume", "continue", "fork-session", "resume-at", "session-id", "file"}

// LocationFlags are the flags of a prompt for commands that run none: where they work, which
// settings count and what they log.
func (o *Options) LocationFlags() cli.Flags {
	return o.Flags().Named("cwd", "settings", "setting-sources", "log-level", "log-format", "debug")
}

// SettingFlags are the flags of a prompt that make settings, and the LocationFlags.
func (o *Options) SettingFlags() cli.Flags {
	names := []string{"dangerously-skip-permissions", "session-dir"}
	for _, k := range config.Keys() {
		names = append(names, k.Flag)
	}
	return append(o.Flags().Named(names...), o.LocationFlags()...)
}

// JobFlags are the flags of a prompt under which jobs run.
func (o *Options) JobFlags() cli.Flags {
	return slices.DeleteFunc(o.Flags(), func(f cli.Flag) bool { return slices.Contains(notForJobs, f.Name) })
}
