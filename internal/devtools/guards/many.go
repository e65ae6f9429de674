package main

// many are the guards of sessions on many machines.
var many = []Guard{
	{
		Name:     "a session that is open elsewhere",
		Prevents: "A worker gives a session up, or takes it by force, while another one has it.",
		Edits: off("durable/visit.go",
			"		if !errors.Is(err, session.ErrBusy) {",
			"		if err == nil || errors.Is(err, session.ErrBusy) {"),
		Tests: in("durable", "TestMemory/one_lease"),
	},
	{
		Name:     "the mode that asks nothing, by a command",
		Prevents: "Who may send commands switches a session to bypassPermissions.",
		Edits: off("durable/mode.go",
			"	if mode != permission.Bypass || v.mode == permission.Bypass {\n		return nil\n	}\n	return fmt.Errorf",
			"	if mode != \"\" || v.mode == permission.Bypass {\n		return nil\n	}\n	return fmt.Errorf"),
		Tests: in("durable", "TestBypassOfWorkers"),
	},
	{
		Name:     "the mode that asks nothing, left by another program",
		Prevents: "A worker continues a session that another program has left in bypassPermissions.",
		Edits: off("durable/mode.go",
			"	if err != nil || mode != permission.Bypass {",
			"	if err != nil || mode != \"\" {"),
		Tests: in("durable", "TestBypassOfWorkers"),
	},
	{
		Name:     "questions are left for later",
		Prevents: "A run that waits for a person holds a worker for days.",
		Edits: off("durable/worker.go",
			"		return permission.Defer(), nil",
			"		return permission.Deny(\"nobody was there\"), nil"),
		Tests: in("durable", "TestMemory/question"),
	},
}
