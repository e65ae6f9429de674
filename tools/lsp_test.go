package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// installed returns where a language server is: as internal/devtools/servers/install.sh
// leaves it, or in PATH. CI has to have it.
func installed(t testing.TB, local, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".cache", "servers", local))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if path, err = exec.LookPath(name); err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed: run internal/devtools/servers/install.sh", name)
	}
	t.Skipf("%s is not installed: run internal/devtools/servers/install.sh", name)
	return ""
}

// serverNamed is one of the servers that are known, with the program at path.
func serverNamed(t testing.TB, name, path string) tools.LanguageServer {
	t.Helper()
	for _, s := range tools.DefaultLanguageServers() {
		if s.Name == name {
			s.Command = path
			return s
		}
	}
	t.Fatalf("no server %s is known", name)
	return tools.LanguageServer{}
}

func gopls(t testing.TB) tools.LanguageServer {
	t.Helper()
	return serverNamed(t, "gopls", installed(t, "bin/gopls", "gopls"))
}

func typeScript(t testing.TB) tools.LanguageServer {
	t.Helper()
	return serverNamed(t, "typescript-language-server", installed(t, "node_modules/.bin/typescript-language-server", "typescript-language-server"))
}

// openLanguages returns language servers that are gone without a trace after the test.
func openLanguages(t testing.TB, ws *workspace.Workspace, servers ...tools.LanguageServer) *tools.Languages {
	t.Helper()
	before := goleak.IgnoreCurrent()
	l := tools.NewLanguages(ws, servers)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
	return l
}

// module is a small Go program.
var module = []string{
	"go.mod=module example.com/shapes\n\ngo 1.21\n",
	"shape.go=package shapes\n\n// Shape is a thing with an area.\ntype Shape interface {\n\tArea() float64\n}\n\n" +
		"// Square has equal sides.\ntype Square struct{ Side float64 }\n\n// Area is the side squared.\nfunc (s Square) Area() float64 { return s.Side * s.Side }\n",
	"sum.go=package shapes\n\nfunc total(all []Shape) float64 {\n\tsum := 0.0\n\tfor _, s := range all {\n\t\tsum += s.Area()\n\t}\n\treturn sum\n}\n\n" +
		"func twice(all []Shape) float64 { return total(all) + total(all) }\n\nvar größe = \"🙂\" + name\n\nconst name = \"ß\"\n",
}

func TestLSPWithGopls(t *testing.T) {
	server := gopls(t)
	f := plant(t, module...)
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	for _, c := range []struct {
		name  string
		input in
		want  string
	}{
		{"definition", in{"operation": "goToDefinition", "file_path": "sum.go", "line": 3, "character": 18}, "shape.go:4:6: type Shape interface {"},
		{"definition by name", in{"operation": "goToDefinition", "file_path": "sum.go", "line": 3, "query": "Shape"}, "shape.go:4:6: type Shape interface {"},
		{"after wide characters", in{"operation": "goToDefinition", "file_path": "sum.go", "line": 13, "character": 19}, "sum.go:15:7: const name = \"ß\""},
		{"references", in{"operation": "findReferences", "file_path": "sum.go", "line": 3, "query": "total"},
			"sum.go:3:6: func total(all []Shape) float64 {\nsum.go:11:42: func twice(all []Shape) float64 { return total(all) + total(all) }\nsum.go:11:55: func twice(all []Shape) float64 { return total(all) + total(all) }"},
		{"implementation", in{"operation": "goToImplementation", "file_path": "shape.go", "line": 4, "query": "Shape"}, "shape.go:9:6: type Square struct{ Side float64 }"},
		{"hover", in{"operation": "hover", "file_path": "sum.go", "line": 11, "query": "Shape"}, "*type Shape interface*Shape is a thing with an area*"},
		{"symbols of a file", in{"operation": "documentSymbol", "file_path": "shape.go"},
			"4: interface Shape interface{...}\n5:   method Area func() float64\n9: struct Square struct{...}\n9:   field Side float64\n12: method (Square).Area func() float64"},
		{"symbols of the workspace", in{"operation": "workspaceSymbol", "query": "Square"}, "*shape.go:9:6: struct Square in example.com/shapes*"},
		{"symbols from a file", in{"operation": "workspaceSymbol", "query": "twice", "file_path": "shape.go"}, "*sum.go:11:6: function twice*"},
		{"call hierarchy", in{"operation": "prepareCallHierarchy", "file_path": "sum.go", "line": 3, "query": "total"}, "*sum.go:3:6: function total*"},
		{"incoming", in{"operation": "incomingCalls", "file_path": "sum.go", "line": 3, "query": "total"}, "sum.go:11:6: function twice, called at sum.go:11"},
		{"outgoing", in{"operation": "outgoingCalls", "file_path": "sum.go", "line": 11, "query": "twice"}, "sum.go:3:6: function total, called at sum.go:11"},
		{"no diagnostics", in{"operation": "diagnostics", "file_path": "shape.go"}, "gopls has nothing to report about shape.go."},
		{"rename", in{"operation": "rename", "file_path": "sum.go", "line": 15, "query": "name", "new_name": "label"},
			"*2 places of 1 files; nothing has been changed yet*-var größe = \"🙂\" + name*+var größe = \"🙂\" + label*-const name = \"ß\"\n+const label = \"ß\"*"},
		{"bad name", in{"operation": "rename", "file_path": "sum.go", "line": 15, "query": "name", "new_name": "1x"}, "error: gopls: *"},
		{"nothing there", in{"operation": "goToDefinition", "file_path": "sum.go", "line": 2, "character": 1}, "Nothing was found: there is no name at line 2, character 1.*"},
		{"nothing found", in{"operation": "workspaceSymbol", "query": "zzzqqq"}, "Nothing was found for \"zzzqqq\"."},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.T = t
			r := f.call(lsp, c.input)
			got := f.text(r)
			if r.IsError {
				got = "error: " + got
			}
			t.Logf("%s\n%s", got, r.Details)
			if !like(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// like reports whether text is as the pattern says, in which "*" stands for anything.
func like(text, pattern string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return text == pattern
	}
	if !strings.HasPrefix(text, parts[0]) || !strings.HasSuffix(text, parts[len(parts)-1]) {
		return false
	}
	for _, p := range parts {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return true
}
