package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"openagent": func() { os.Exit(newHost().main(os.Args[1:])) },
	})
}
