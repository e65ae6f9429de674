package main

// server are the guards of package serve.
var server = []Guard{
	{
		Name:     "end of a login code",
		Prevents: "An old login code logs in.",
		Edits: off("serve/auth.go",
			"	if (!known || now.After(end)) && !s.isToken(token) {",
			"	if (!known || end.IsZero()) && !s.isToken(token) {"),
		Tests: in("serve", "TestLoginTimes"),
	},
}
