package permission_test

import (
	"fmt"

	"github.com/openagent-go/agent/permission"
)

// command is a call of Bash as the tool describes it.
func command(line string) permission.Request {
	return permission.Request{Tool: "Bash", Dir: "/work", Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}}
}

// A policy is rules and a mode. Deny beats ask, and ask beats allow.
func ExamplePolicy_Decide() {
	p := permission.Policy{
		Mode:  permission.DontAsk,
		Allow: []permission.Rule{"Bash(go test *)"},
		Deny:  []permission.Rule{"Bash(rm *)"},
	}
	for _, line := range []string{"go test ./...", "go test ./... && rm -rf build", "git status"} {
		d := p.Decide(command(line))
		fmt.Printf("%s: %s %s\n", line, d.Behavior, d.Rule)
	}
	// Output:
	// go test ./...: allow Bash(go test *)
	// go test ./... && rm -rf build: deny Bash(rm *)
	// git status: allow
}

// A child's policy within its parent's never allows more than either.
func ExamplePolicy_Within() {
	parent := permission.Policy{Deny: []permission.Rule{"Bash(git push *)"}}
	child := permission.Policy{Mode: permission.Bypass}
	fmt.Println(child.Decide(command("git push origin")).Behavior)
	fmt.Println(child.Within(parent).Decide(command("git push origin")).Behavior)
	// Output:
	// allow
	// deny
}

// Canonical returns the line that a tool of your own gives the shell.
func ExampleCanonical() {
	form, _, err := permission.Canonical("go  test   ./... && echo 'done'")
	fmt.Println(form, err)
	// Output:
	// go test ./... && echo 'done' <nil>
}
