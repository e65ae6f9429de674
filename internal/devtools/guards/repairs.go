package main

// A repair is a defect that was found by using the whole program, and the guards that its repair
// put into the code. Without them the defect is back.
type repair struct {
	defect string
	guards []string // names
}

// repairs lists the defects in the order in which they were found.
var repairs = []repair{
	{"A call that asks in every mode is refused, also with a rule that allows it.", []string{"rules allow what asks in every mode"}},
	{"A host that answers permissions over stream-json is not offered questions of the model.", []string{"questions of tools go to the host"}},
	{"Agents in the background work on after an interrupt, and after a change to plan mode.", []string{"an interrupt ends the agents in the background", "a change of mode reaches agents at work"}},
	{"A deferred question of a sub-agent is lost.", []string{"a sub-agent's deferred question suspends the tree"}},
	{"Outputs show the values of the setting env and of Workspace.Env.", []string{"variables of the settings are secret", "variables of a workspace are secret"}},
	{"A fork does not have the agents of its source.", []string{"a fork has the agents of its source"}},
	{"Grep, Glob and CodeSearch show paths that the sandbox denies.", []string{"searches ask the sandbox", "unreadable files in searches"}},
	{"A language server never starts with the sandbox.", []string{"language servers are confined"}},
	{"The limit of turns does not hold for sub-agents.", []string{"turns of the tree", "an agent's own ceiling of turns", "ceiling of model calls"}},
	{"Plan mode asks a person about calls that it denies anyway.", []string{"plan mode at the decision"}},
	{"A session in plan mode leaves it when another program resumes it.", []string{"plan mode outlives the program"}},
	{"Trust in a plugin leaves out its hooks, servers and tools.", []string{"a plugin is trusted as a whole", "plugins need trust"}},
	{"Only the first command of a session reaches the proxy of the sandbox.", []string{"each command has its own proxy"}},
	{"Commands in a worktree cannot write it in the sandbox, and can write the main folder.", []string{"a worktree is a place of its own"}},
	{"A SubagentStop hook that blocks has no effect.", []string{"hooks of a sub-agent's end"}},
	{"A torn record is cut off a journal, and nobody is told.", []string{"a torn record is told"}},
	{"A call that hangs is missing in the statistics.", []string{"calls that hang are counted"}},
	{"A spelling of a command line hides a command from the rules.", []string{"spellings of command lines", "doubts are asked about", "doubts in the mode that asks nothing"}},
}
