package skill_test

import (
	"fmt"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/skill"
)

// A skill is instructions for one kind of work, and the tools that it may use.
// Expand makes the prompt that "/deploy staging" stands for.
func ExampleRegistry_Expand() {
	skills := skill.New(&skill.Skill{
		Name:         "deploy",
		Description:  "Deploys the service",
		Tools:        []permission.Rule{"Read", "Bash(make deploy *)"},
		Instructions: "Deploy to $1, then read the log.",
	})
	in, err := skills.Expand("deploy", "staging")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(in.Text) // res, err := session.Do(ctx, agent.Input{Expansion: in})
	// Output:
	// /deploy staging
	//
	// The instructions of this skill follow. While it is in force only these tools run: Read, Bash(make deploy *).
	//
	// Deploy to staging, then read the log.
}
