package tools

// The constructors that only Builtins calls.
var (
	NewSearch = codeSearchTool
	NewAgent  = newAgent
)
