package hook_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/hookrun"
)

var update = flag.Bool("update", false, "write the tables of docs/hooks.md")

// TestDocs keeps the tables of docs/hooks.md equal to those generated from the code.
func TestDocs(t *testing.T) {
	golden.Tables(t, "../docs/hooks.md", map[string]string{"events": eventTable(t), "input": inputTable(t)}, *update)
}

func eventTable(t *testing.T) string {
	docs := map[hook.Event]string{}
	for _, file := range []string{"event.go", changes} {
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && v.Doc != nil {
				_, text, _ := strings.Cut(strings.Join(strings.Fields(v.Doc.Text()), " "), ": ")
				docs[hook.Event(v.Names[0].Name)] = text
			}
			return true
		})
	}
	var b strings.Builder
	b.WriteString("| event | when it runs, and its powers | matched | a failure |\n|---|---|---|---|\n")
	for _, e := range hook.Events {
		if docs[e] == "" {
			t.Errorf("%s has no description", e)
		}
		subject, fails := "", "is reported"
		if s := hookrun.Subject(e); s != "" {
			subject = "`" + s + "`"
		}
		if hookrun.Guards(e) {
			fails = "**blocks**"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e, docs[e], subject, fails)
	}
	return b.String()
}

// changes is the file with the events that have no constant in package hook.
const changes = "../internal/hookconst/hookconst.go"

func inputTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| member | in Go | events and meaning |\n|---|---|---|\n")
	ast.Inspect(parse(t, "input.go"), func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Input" {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
			switch f.Names[0].Name {
			case "Suggestions":
				name = "permission_suggestions"
			case "Fields":
				for _, m := range hookconst.Fields {
					fmt.Fprintf(&b, "| `%s` | `Fields[\"%s\"]` | %s |\n", m.Name, m.Name, m.About)
				}
				continue
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", name, f.Names[0].Name, strings.TrimSpace(f.Comment.Text()))
		}
		return false
	})
	return b.String()
}

func parse(t *testing.T, file string) *ast.File {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
