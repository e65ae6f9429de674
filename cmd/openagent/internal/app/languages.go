package app

import (
	"slices"

	"github.com/openagent-go/agent/tools"
)

const (
	diagnosticsKey = "diagnosticsAfterEdits"
)

// withDiagnostics has the tools that change files tell what language servers say
// of them, where the settings want it.
func (s *App) withDiagnostics(entries []tools.Entry) []tools.Entry {
	wanted := false
	if o := s.Options; o.Settings != nil {
		o.Settings.Decode(diagnosticsKey, &wanted)
	}
	for i, e := range entries {
		if wanted && slices.Contains(fileChangers, e.Tool.Spec().Name) {
			entries[i].Tool = tools.WithDiagnostics(e.Tool, s.languages)
		}
	}
	return entries
}

// fileChangers are the tools after which it is worth while to ask.
var fileChangers = []string{"Edit", "Write", "MultiEdit", "ApplyPatch"}
