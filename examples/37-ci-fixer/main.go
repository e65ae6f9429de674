// CI-fixer repairs a Go project whose tests fail. The agent works in a sandbox: it changes files of
// the project only, and has no network. The exit code is 0 if the tests pass at the end.
//
// Run it with: go run ./examples/37-ci-fixer [DIR]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/coder"
	"github.com/openagent-go/agent/permission"
)

func main() {
	options, cleanUp := project(os.Args[1:])
	fixed, err := fix(context.Background(), options)
	cleanUp()
	if err != nil {
		log.Fatal(err)
	}
	if !fixed {
		os.Exit(1)
	}
}

// fix lets an agent repair the failing tests in options.Dir.
func fix(ctx context.Context, options coder.Options) (fixed bool, err error) {
	failure, err := test(ctx, options.Dir)
	if err == nil {
		fmt.Println("the tests pass")
		return true, nil
	}
	options.Sandbox = coder.Require
	options.Agent.Permissions.Mode = permission.AcceptEdits // changes of files need no question
	options.Agent.Budget = agent.Budget{Turns: 30, USD: 1}
	c, err := coder.New(ctx, options)
	if err != nil {
		return false, err
	}
	defer c.Close()
	res, err := c.Prompt(ctx, "go test ./... fails. Find the cause and fix it, but leave the tests as they are.\n\n"+failure)
	if err != nil {
		return false, err
	}
	fmt.Println(res.Text)
	_, err = test(ctx, options.Dir)
	fmt.Printf("fixed: %v, %d turns\n", err == nil, res.Turns)
	return err == nil, nil
}

// test runs the tests of a project. It returns what they print.
func test(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "./...")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
