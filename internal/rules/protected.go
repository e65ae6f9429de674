package rules

import "github.com/openagent-go/agent/internal/rules/paths"

// What the program keeps for itself.

// readRule is the rule that is named for a private path.
func readRule(path string) Rule { return Rule("Read(" + paths.Anchor("/", path) + ")") }

// private returns the private path that the call is known to touch, "" for none, and by
// which access.
func (c *call) private(private []string) (path string, by *Access) {
	if len(private) == 0 || len(c.req.Access) == 0 {
		return "", nil
	}
	kept := c.ground.Kept(private)
	for i := range c.req.Access {
		path, a := "", &c.req.Access[i]
		switch a.Kind {
		case ReadFile, EditFile:
			path = c.ground.Among(kept, a.Target)
		case RunCommand:
			if path = c.lines[i].OpensAmong(kept); path == "" {
				path = c.lines[i].WalksAmong(kept)
			}
		}
		if path != "" {
			return path, a
		}
	}
	return "", nil
}

// whyTouchesPrivate says why a command line may touch what is kept in a root without
// being seen to, "" if it cannot.
func (c *call) whyTouchesPrivate(private []string) (path, why string) {
	if len(c.lines) == 0 {
		return "", ""
	}
	for _, p := range c.ground.KeptInside(private) {
		for i, a := range c.req.Access {
			if a.Kind != RunCommand {
				continue
			}
			if why := c.lines[i].MayTouch(paths.NewPattern(paths.Anchor("/", p), paths.FoldCase), false); why != "" {
				return p, why
			}
		}
	}
	return "", ""
}
