package main

// machine are the guards around processes, the sandbox and the system.
var machine = []Guard{
	{
		Name:     "end of a process tree",
		Prevents: "Processes of a command outlive it.",
		Edits: off("workspace/proc_linux.go",
			"		if p.group == t.pid || p.session == t.pid || hasJob(environmentOf(pid), t.id) {",
			"		if p.group == t.pid {"),
		Tests: in("workspace", "TestTreeEnds"),
	},
}
