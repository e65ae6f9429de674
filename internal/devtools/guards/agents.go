package main

// agents are the guards that bound sub-agents by their parents.
var agents = []Guard{
	{
		Name:     "deny rules at every depth",
		Prevents: "A sub-agent does what a rule of its parent denies.",
		Edits: off("internal/subagents/policy.go",
			"	if d := rules.Denies(&r); d != nil {\n		return *d\n	}",
			""),
		Tests: in("internal/subagents", "TestAbove"),
	},
	{
		Name:     "plan mode at every depth",
		Prevents: "A sub-agent changes files while its parent is in plan mode.",
		Edits: off("internal/subagents/policy.go",
			"	if d := rules.Waits(&r); d != nil {\n		return *d\n	}",
			""),
		Tests: in("internal/subagents", "TestAbove"),
	},
	{
		Name:     "unreadable files at every depth",
		Prevents: "A sub-agent sees files that its parent may not read.",
		Edits: off("internal/subagents/policy.go",
			"return a.parent.Unreadable().HidesPlain(path, \"\") }",
			"return false }"),
		Tests: in("internal/subagents", "TestAbove"),
	},
	{
		Name:     "a child's policies only restrict",
		Prevents: "A sub-agent's own policy allows what its parent has to be asked about.",
		Edits: off("internal/subagents/policy.go",
			"	if d := s.own.Decide(r); d.Behavior != permission.Allowed {",
			"	if d := s.own.Decide(r); d.Behavior != \"\" {"),
		Tests: in("internal/subagents", "TestDenyOnly"),
	},
	{
		Name:     "a child's hooks only restrict",
		Prevents: "A hook of a sub-agent allows a call in place of the parent's.",
		Edits: off("internal/subagents/policy.go",
			"				o.Permission = permission.NoOpinion",
			"				_ = o"),
		Tests: in("internal/subagents", "TestRestrictHooks"),
	},
	{
		Name:     "a child's hooks add no allow rules",
		Prevents: "A hook of a sub-agent adds a rule that allows, or changes the mode.",
		Edits: off("internal/subagents/policy.go",
			"				return u.Type != hookconst.AddRules || u.Behavior != permission.Denied && u.Behavior != permission.Asked",
			"				return false && u.Type != hookconst.AddRules"),
		Tests: in("internal/subagents", "TestRestrictHooks"),
	},
	{
		Name:     "the stricter mode",
		Prevents: "A sub-agent works in a mode that permits more than its parent's.",
		Edits: off("internal/subagents/policy.go",
			"	if strictness(above) > strictness(mode) {",
			"	if strictness(above) < 0 {"),
		Tests: in("internal/subagents", "TestStricter"),
	},
}
