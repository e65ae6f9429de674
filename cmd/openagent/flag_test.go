package main

import (
	"errors"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

func TestFlags(t *testing.T) {
	for line, want := range map[string]options{
		"":                                 {},
		"-p hi":                            {print: true},
		"-pc hi":                           {print: true, latest: true},
		"-rX hi":                           {resume: "X"},
		"-r=X hi":                          {resume: "X"},
		"-pr X hi":                         {print: true, resume: "X"},
		"hi --model=m --effort low":        {model: "m", effort: "low"},
		"--model m -- --effort":            {model: "m"},
		"--fallback-model a,b hi":          {fallbacks: []string{"a", "b"}},
		"--append-system-prompt -x hi":     {append: "-x"},
		"--system-prompt=--model hi":       {system: "--model"},
		"--max-turns=3 --max-budget-usd 2": {turns: 3, usd: 2},
		"--tools Read,Glob --tools Grep":   {tools: []string{"Read", "Glob", "Grep"}},
	} {
		var o options
		if _, err := o.flags().Parse(strings.Fields(line)); err != nil || !reflect.DeepEqual(o, want) {
			t.Errorf("%q: %+v, %v", line, o, err)
		}
	}
}

func TestFlagTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range new(options).flags() {
		if seen[f.Name] || f.Short != 0 && seen[string(f.Short)] {
			t.Errorf("--%s is there twice", f.Name)
		}
		seen[f.Name], seen[string(f.Short)] = true, true
		if f.Help == "" || f.Set == nil || f.Arg == "" && (f.Words != nil || f.Path) {
			t.Errorf("--%s is not complete", f.Name)
		}
	}
}

func FuzzFlags(f *testing.F) {
	for _, seed := range []string{"-p hi", "--model=m x", "-r", "--", "-prX", "--max-turns -1", "--=", "-=", "--allowed-tools Bash(git *)", "-\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		var o options
		rest, err := o.flags().Parse(args)
		var e *cli.ExitError
		switch {
		case err != nil && (!errors.As(err, &e) || e.Code != cli.ExitUsage):
			t.Fatalf("%q: %v", line, err)
		case err != nil && len(err.Error()) > 1000:
			t.Fatalf("a long error: %v", err)
		}
		for _, a := range rest {
			if !slices.Contains(args, a) {
				t.Fatalf("%q: %q was not given", line, a)
			}
		}
		if o.turns < 0 || o.usd < 0 || o.timeout < 0 || o.maxTokens < 0 {
			t.Fatalf("%q: %+v", line, o)
		}
	})
}

// BenchmarkStart measures the whole life of the process.
func BenchmarkStart(b *testing.B) {
	path, err := exec.LookPath("openagent")
	if err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string][]string{"version": {"version"}, "no key": {"-p", "hi"}, "help": {"--help"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(path, args...)
				cmd.Env = []string{"HOME=/nonexistent"}
				if err := cmd.Run(); exitCode(err) != 0 && exitCode(err) != cli.ExitKey {
					b.Fatal(err)
				}
			}
		})
	}
}
