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

// attacked lists the defects that attacks on the whole program found.
var attacked = []repair{
	{"An expansion in a here-document runs a command that no rule has judged.", []string{"spellings of command lines", "lines that can be read in two ways"}},
	{"A worktree shows another copy of a denied file.", []string{"unreadable files in other worktrees"}},
	{"A command reads the program's own settings, sessions and logins.", []string{"the program's own files"}},
	{"A search, or an import of AGENTS.md, shows what the sandbox denies.", []string{"searches ask the sandbox", "unreadable files in searches"}},
	{"ApplyPatch changes denied files.", []string{"files that a patch changes"}},
	{"Mode acceptEdits writes files that run code when a program opens them.", []string{"files that run code when a program opens them"}},
	{"Mode auto runs commands that change files outside of the folders.", []string{"what mode auto asks about"}},
	{"A deny rule for a long option does not hold for its first letters.", []string{"options that are cut short"}},
	{"A command that only reads follows links out of the folders.", []string{"options that only read"}},
	{"A command leaves the sandbox beside or within an excluded one.", []string{"commands beside an excluded one", "excluded programs that run others"}},
	{"A guarding hook that crashes, hangs or answers nonsense lets the call run.", []string{"hooks that fail", "answers of hooks that are nonsense"}},
	{"Settings and flags of the user lift or widen managed settings.", []string{"lists of managed settings", "values of managed settings"}},
	{"A confined command takes all memory of the machine.", []string{"memory of confined commands"}},
	{"A confined command writes settings of programs in the home folder.", []string{"files that run code, in the sandbox"}},
	{"A link leads a writable path out of the folders, or shows a denied file.", []string{"writable paths that lead out", "denied files by other names"}},
	{"Commands get keys of the program.", []string{"variables with secret names", "variables with secret values", "the program's own variables"}},
	{"Lists of servers show the keys in their addresses.", []string{"keys in addresses of servers"}},
	{"A model writes without end, or makes any number of calls in one answer.", []string{"length of an endless answer", "calls of an endless answer", "size of a reply"}},
	{"A server lists its tools without end, or so many that the run panics.", []string{"lists without end", "tools of a server", "values that cannot be compared"}},
	{"A signed request to a trigger counts again.", []string{"signatures of triggers", "age of a signed request", "repeated requests to triggers"}},
	{"Connections without a request keep others out.", []string{"silent connections"}},
	{"Texts of models, tools and servers drive the terminal.", []string{"escape sequences", "control characters", "control characters in JSON"}},
	{"A question does not show all of a command.", []string{"the whole command in a question", "the lines of a command in a question", "characters that nobody sees, in a question"}},
	{"A command writes to the terminal that a question is on.", []string{"the terminal of the questions"}},
	{"The question about trust does not show what would run.", []string{"what would run, in the question about trust"}},
	{"A changed byte at the end of a journal passes for an unfinished write.", []string{"torn or damaged", "altered newline", "checksum of records"}},
	{"The program waits for ever for a pipe in the place of a file.", []string{"files that are none", "pipes and devices"}},
	{"A language server shows denied files.", []string{"results of language servers"}},
}
