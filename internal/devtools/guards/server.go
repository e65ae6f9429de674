package main

// server are the guards of package serve.
var server = []Guard{
	{
		Name:     "token of the server",
		Prevents: "Anybody who reaches the port uses the sessions.",
		Edits: off("serve/auth.go",
			"	return len(s.Token) >= minToken && subtle.ConstantTimeCompare(a[:], b[:]) == 1",
			"	return len(s.Token) >= minToken && subtle.ConstantTimeCompare(a[:], b[:]) < 2"),
		Tests: in("serve", "TestTokenIsNeeded"),
	},
	{
		Name:     "short tokens",
		Prevents: "A server runs with a token that can be guessed.",
		Edits: off("serve/auth.go",
			"	return len(s.Token) >= minToken && subtle",
			"	return subtle"),
		Tests: in("serve", "TestShortToken"),
	},
	{
		Name:     "routes need a login",
		Prevents: "A route answers without the token.",
		Edits: off("serve/routes.go",
			"		if c.user, c.by, err = e.server.user(c.r); err != nil {",
			"		if c.user, c.by, err = e.server.user(c.r); err != nil && c.r == nil {"),
		Tests: in("serve", "TestTokenIsNeeded"),
	},
	{
		Name:     "Host header",
		Prevents: "A page whose name is rebound to the loopback address uses the server.",
		Edits: off("serve/auth.go",
			"	if !s.isHost(r) {",
			"	if !s.isHost(r) && r.Host == \"\" {"),
		Tests: in("serve", "TestDNSRebinding"),
	},
	{
		Name:     "end of a login code",
		Prevents: "An old login code logs in.",
		Edits: off("serve/auth.go",
			"	if (!known || now.After(end)) && !s.isToken(token) {",
			"	if (!known || end.IsZero()) && !s.isToken(token) {"),
		Tests: in("serve", "TestLoginTimes"),
	},
}
