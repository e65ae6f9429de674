// Package tools holds the built-in tools: one Go file and one text for the model each.
// Each tool takes the thing that it works on as a small interface.
//
//	ws := &workspace.Workspace{Root: "."}
//	a.Tools = tools.Core(ws)
//
// [Builtins] makes the other tools too.
package tools

import (
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// access is the Class of a call that works on one file.
func access(kind permission.AccessKind, path string) tool.Traits {
	return tool.Traits{
		ReadOnly: kind == permission.ReadFile,
		Touches:  []string{path},
		Access:   []permission.Access{{Kind: kind, Target: path}},
	}
}
