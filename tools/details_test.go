package tools

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/golden"
)

// detailTypes are the types of the Details that programs may rely on.
var detailTypes = []struct {
	tools string
	zero  any
}{
	{"Bash, BashOutput, KillShell", bashDetails{}},
	{"Edit, MultiEdit, Write", fileChange{}},
	{"ApplyPatch", patchChange{}},
	{"NotebookEdit", notebookChange{}},
	{"Read, of a text", readDetails{}},
	{"Glob", globDetails{}},
	{"Grep", grepDetails{}},
	{"CodeSearch", codeSearchDetails{}},
	{"LSP", lspDetails{}},
	{"TodoWrite, TodoRead", todoList{}},
	{"Agent", agentDetails{}},
	{"ExitPlanMode", planDetails{}},
	{"WebFetch", pageDetails{}},
	{"WebSearch", searchDetails{}},
}

// TestDetailsDocs keeps the table of details in testdata/tools.md equal to the types.
func TestDetailsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| tool | members of `Details` |\n|---|---|\n")
	for _, d := range detailTypes {
		fmt.Fprintf(&b, "| %s | %s |\n", d.tools, strings.Join(members(reflect.TypeOf(d.zero)), ", "))
	}
	golden.Tables(t, "testdata/tools.md", map[string]string{"details": b.String()}, flag.Lookup("update").Value.String() == "true")
}

// members lists the members of a struct in JSON, those of an embedded one included.
func members(of reflect.Type) []string {
	var all []string
	for f := range of.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all = append(all, members(f.Type)...)
			continue
		case !f.IsExported() || name == "":
			continue
		}
		optional := ""
		if strings.Contains(option, "omit") {
			optional = "?"
		}
		word := "`" + name + "`" + optional
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			word += " (list: " + strings.Join(members(f.Type.Elem()), ", ") + ")"
		}
		all = append(all, word)
	}
	return all
}
