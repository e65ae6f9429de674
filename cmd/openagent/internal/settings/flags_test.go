package settings

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

func TestFlags(t *testing.T) {
	for line, want := range map[string]Options{
		"":                                 {},
		"-p hi":                            {Print: true},
		"-pc hi":                           {Print: true, Latest: true},
		"-rX hi":                           {Resume: "X"},
		"-r=X hi":                          {Resume: "X"},
		"-pr X hi":                         {Print: true, Resume: "X"},
		"--resume":                         {Pick: true},
		"--resume -p hi":                   {Pick: true, Print: true},
		"-r -- hi":                         {Pick: true},
		"hi -r":                            {Pick: true},
		"-cc hi":                           {Pick: true},
		"-c -c -c":                         {Pick: true},
		"hi --model=m --effort low":        {Model: "m", Effort: "low"},
		"--model m -- --effort":            {Model: "m"},
		"--fallback-model a,b hi":          {Fallbacks: []string{"a", "b"}},
		"--append-system-prompt -x hi":     {Append: "-x"},
		"--system-prompt=--model hi":       {System: "--model"},
		"--max-turns=3 --max-budget-usd 2": {Turns: 3, USD: 2},
		"--tools Read,Glob --tools Grep":   {Tools: []string{"Read", "Glob", "Grep"}},
	} {
		var o Options
		if _, err := o.Flags().Parse(strings.Fields(line)); err != nil || !reflect.DeepEqual(o, want) {
			t.Errorf("%q: %+v, %v", line, o, err)
		}
	}
}

func TestFlagTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range new(Options).Flags() {
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
		var o Options
		rest, err := o.Flags().Parse(args)
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
		if o.Turns < 0 || o.USD < 0 || o.Timeout < 0 || o.MaxTokens < 0 {
			t.Fatalf("%q: %+v", line, o)
		}
	})
}
