package main

// peers are the guards against servers, models and hosts that misbehave.
var peers = []Guard{
	{
		Name:     "names of MCP tools are unique",
		Prevents: "One tool of a server takes the name of another one, and its rules.",
		Edits: off("mcp/name.go",
			"		if len(name) > maxName || count[name] > 1 && name != head+t || t == \"\" {",
			"		if len(name) > maxName || t == \"\" {"),
		Tests: in("mcp", "TestNames", "TestNamesAreUnique"),
	},
	{
		Name:     "names of MCP tools are legal",
		Prevents: "A tool of a server gets a name that looks like a tool of another server.",
		Edits: off("mcp/name.go",
			"	plain := func(t string) string { return head + illegal.ReplaceAllString(t, \"_\") }",
			"	plain := func(t string) string { return head + t }"),
		Tests: in("mcp", "TestNames"),
	},
}
