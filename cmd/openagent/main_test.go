package main

import (
	"os"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

// programs are what this test binary is when it is called by another name.
var programs = map[string]func(){
	"openagent": func() {
		h := cli.NewIO()
		h.Managed = os.Getenv(managedVar) // else tests would depend on the machine
		os.Exit(execute(h, os.Args[1:]))
	},
	"fetch":        fetch,
	"promptserver": promptServer,
}

// managedVar names the file of managed settings of a test.
const managedVar = "TEST_MANAGED"

// quickEnd keeps the race detector of a child process from waiting a second at
// its end, in GORACE.
const quickEnd = "atexit_sleep_ms=0"
