// Package skillscope holds the settings in force during a skill, and how skills are listed for
// models.
package skillscope

import (
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// A Scope holds the settings in force during a skill. Scopes are a stack: a skill may begin
// within another one. A scope ends with its skill, at the latest with the run, or with the
// next message of the user that the run continues for.
type Scope struct {
	Skill string `json:"skill"`
	// Tools, if not empty, are the only calls that may run, see [permission.Restriction].
	// Of nested skills the list of the innermost that has one counts. They allow nothing
	// that rules and mode do not. The names are of tools or aliases, ignoring case.
	Tools []permission.Rule `json:"tools,omitempty"`
	// Model, unless empty, answers while the skill is in force.
	Model string `json:"model,omitempty"`
	// Info describes that model. The run fills it in.
	Info llm.Info `json:"info,omitzero"`
	// ByUser: the user began it, and the model cannot end it.
	ByUser bool `json:"by_user,omitempty"`
}

// An Info is a skill as models see it listed.
type Info struct {
	Name        string
	Description string
	When        string            // it should be run, beside the description
	Tools       []permission.Rule // to which its work is kept; empty: any
	Manual      bool              // models cannot run it
}
