package sandbox_test

import (
	"errors"
	"fmt"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
)

// The rules of the settings can be asked alone, without confining anything.
func ExampleSettings_At() {
	rules, err := sandbox.Settings{
		DeniedPaths:    []string{"secrets"},
		DeniedCommands: []string{"curl"},
	}.At(sandbox.Place{Dir: "/work"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rules.CheckPath("/work/main.go", permission.ReadFile))
	var denied *sandbox.DeniedError
	fmt.Println(errors.As(rules.CheckPath("/work/secrets/key", permission.ReadFile), &denied))
	fmt.Println(errors.As(rules.CheckCommand("make && curl example.com"), &denied))
	// Output:
	// <nil>
	// true
	// true
}
