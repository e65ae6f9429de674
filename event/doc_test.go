package event_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/golden"
)

var update = flag.Bool("update", false, "write docs/events.md")

// TestDocs keeps docs/events.md equal to the text generated from the code.
func TestDocs(t *testing.T) {
	var decls []ast.Decl
	for _, name := range []string{"event.go", "signal.go", "../internal/fact/bookkeeping.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		decls = append(decls, f.Decls...)
	}
	var facts, hidden, signals strings.Builder
	for _, decl := range decls {
		g, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			ts, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			for name, d := range all() {
				if reflect.TypeOf(d).Name() != ts.Name.Name {
					continue
				}
				_, isFact := d.(event.Fact)
				_, isHidden := reflect.TypeOf(d).FieldByName("Bookkeeping")
				switch {
				case isHidden:
					describe(&hidden, name, ts)
				case isFact:
					describe(&facts, name, ts)
				default:
					describe(&signals, name, ts)
				}
			}
		}
	}
	got := "# Events\n\nMade from `event/event.go`, `event/signal.go` and `internal/fact/bookkeeping.go` by `go test ./event -run Docs -update`.\n\n" +
		"A `Stream` yields facts and signals; a session's journal holds the facts.\n" +
		"A fact is recorded before it is shown and before anything is done about it. A signal is only shown.\n" +
		"The JSON of an event is `{\"seq\":…,\"prev\":…,\"time\":…,\"session\":…,\"type\":…,\"data\":{…}}`; durations are nanoseconds.\n" +
		"In the stream of a running prompt, `Event.Call` is the call that an event is about: the tool's name, the provider's id, the input. It is not part of the JSON.\n" +
		"Elsewhere, find the call by its id: `c12.0` is the first call of the `assistant_message` with the number 12.\n\n" +
		"`Session.Watch` yields both for any number of observers, and `Agent.Watch` for all sessions of an agent: see [sessions.md](sessions.md#watching-a-session).\n" +
		"Both yield [bookkeeping](#bookkeeping) too, and so does `Stream`. Do not send it to users: `Event.IsBookkeeping` tells it apart.\n\n" +
		"## Facts\n\n" + facts.String() + "## Signals\n\n" + signals.String() +
		"## Bookkeeping\n\nOnly the agent and its stores read these facts.\nTheir types are internal: a program in Go that meets one ignores it.\n" +
		"They hold the system prompt, the tools, prices and reservations. A program that forwards events drops them with `Event.IsBookkeeping`.\n\n" + hidden.String()
	got = strings.TrimRight(got, "\n") + "\n"
	golden.File(t, "../docs/events.md", got, *update)
}

func describe(b *strings.Builder, name string, ts *ast.TypeSpec) {
	fmt.Fprintf(b, "### `%s` (%s)\n\n%s\n", name, ts.Name.Name, sentences(ts.Doc.Text(), ""))
	st, ok := ts.Type.(*ast.StructType)
	if !ok || len(st.Fields.List) == 0 {
		b.WriteString("\n")
		return
	}
	b.WriteString("\n")
	for _, f := range st.Fields.List {
		if f.Tag == nil { // Bookkeeping
			continue
		}
		tag, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		text := sentences(f.Doc.Text()+f.Comment.Text(), "  ")
		if text != "" {
			text = ": " + text
		}
		fmt.Fprintf(b, "- `%s` %s%s\n", tag, typeName(f.Type), text)
	}
	b.WriteString("\n")
}

// sentences puts each sentence of a comment on its own line; indent is in front of all
// but the first.
func sentences(comment, indent string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(comment), " "), ". ", ".\n"+indent)
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X) + " or null"
	case *ast.ArrayType:
		return "list of " + typeName(e.Elt)
	case *ast.MapType:
		return "object of " + typeName(e.Value)
	}
	return "?"
}
