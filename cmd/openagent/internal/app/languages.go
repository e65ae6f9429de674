package app

import (
	"slices"

	"github.com/openagent-go/agent/tools"
)

const (
	diagnosticsKey = "diagnosticsAfterEdits"
)

// withDiagnostics adds diagnostics of language servers to the results of tools that change files,
// if the settings enable it.
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

// fileChangers are the tools whose results get diagnostics.
var fileChangers = []string{"Edit", "Write", "MultiEdit", "ApplyPatch"}
