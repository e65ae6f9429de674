package config

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/golden"
)

var update = flag.Bool("update", false, "write the tables of docs/command/settings.md")

// TestDocs keeps the tables of docs/command/settings.md what the code says.
func TestDocs(t *testing.T) {
	ofSandbox := func(k Key) bool { return strings.HasPrefix(k.Name, "sandbox.") }
	others := func(k Key) bool { return !ofSandbox(k) }
	golden.Tables(t, "../../docs/command/settings.md", map[string]string{"keys": keyTable(others), "sandbox": keyTable(ofSandbox), "others": foreignTable()}, *update)
}

func keyTable(wanted func(Key) bool) string {
	var b strings.Builder
	b.WriteString("| setting | type | meaning | flag | variables | layers | an untrusted project |\n|---|---|---|---|---|---|---|\n")
	for _, k := range keys {
		if !wanted(k) {
			continue
		}
		kind := string(k.Type)
		if k.Words != nil {
			kind = "`" + strings.Join(k.Words, "` `") + "`"
		}
		doc := k.Doc
		if k.Default != nil {
			doc += fmt.Sprintf(" (default `%s`)", k.Default)
		}
		layers, project := "highest", "no"
		switch {
		case k.OfMachine:
			layers = "managed alone"
		case k.Joined:
			layers = "joined"
		case k.tighter != nil:
			layers = "highest; managed bounds"
		}
		switch {
		case k.Restricts && !k.OfMachine:
			project = "yes"
		case k.absentIsLess:
			project = "to lower it"
		case k.tighter != nil:
			project = "to restrict"
		}
		flag := ""
		if k.Flag != "" {
			flag = "`--" + k.Flag + "`"
		}
		variables := ""
		if k.Env != nil {
			variables = "`" + strings.Join(k.Env, "` `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", k.Name, kind, doc, flag, variables, layers, project)
	}
	return b.String()
}

func foreignTable() string {
	var b strings.Builder
	b.WriteString("| setting | reported | instead |\n|---|---|---|\n")
	for _, guards := range []bool{true, false} {
		for _, f := range foreigners {
			if f.guards != guards {
				continue
			}
			reported, use := "by `config list`", f.use
			if guards {
				reported = "at every run"
			}
			if use != "" {
				use = "`" + use + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, reported, use)
		}
	}
	return b.String()
}

// TestKeys checks the table itself.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k.Name] || k.Doc == "" || k.Type == "" || strings.Contains(k.Name, " ") {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
		if k.Default != nil {
			if err := k.Check(k.Default); err != nil {
				t.Error(err)
			}
		}
		if _, ok := foreign(k.Name); ok {
			t.Errorf("%s is a key and has no effect", k.Name)
		}
		if found, _, err := Find(k.Name); err != nil || found.Name != k.Name {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
	for _, f := range foreigners {
		if _, _, err := Find(f.use); f.use != "" && err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if _, _, err := Find(f.name); err == nil {
			t.Errorf("%s is a key", f.name)
		}
	}
}
