package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestEnvironments runs the program on lesser systems, see [limited]: a kernel without
// namespaces or Landlock, disks that are full or read-only, no home, no folder for
// temporary files, another character set.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "environments"),
		RequireExplicitExec: true,
		Setup:               setUpScript,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"model": cmdModel, "requests": cmdRequests, "asked": cmdAsked, "code": cmdCode, "field": cmdField, "lines": cmdLines,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "namespaces":
				return canLimit(), nil
			case "pids":
				return separatePids(), nil
			}
			return false, fmt.Errorf("there is no condition %s", name)
		},
	})
}

// canLimit reports whether this system has namespaces for [limited].
func canLimit() bool {
	cmd := exec.Command("/proc/self/exe", "true")
	cmd.Args[0] = "limited"
	cmd.Env = append(os.Environ(), "GORACE="+quickEnd)
	return cmd.Run() == nil
}
