package permission

// A Suggestion is rules that would allow a call together.
type Suggestion struct {
	// Width says how much the rules allow beside the call: exact (this command, this file),
	// usual (the command with any arguments, the folder) or broad (all commands of the
	// program, all files of the project).
	Width string `json:"width"`
	Rules []Rule `json:"rules"` // rules that would allow the call
	// Scopes say where the rules make sense: session, project, and user if they mean
	// the same in every project.
	Scopes []string `json:"scopes"`
}
