package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

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
	return serverNamed(t, "gopls", installed.Server(t, "bin/gopls", "gopls"))
}

func typeScript(t testing.TB) tools.LanguageServer {
	t.Helper()
	return serverNamed(t, "typescript-language-server", installed.Server(t, "node_modules/.bin/typescript-language-server", "typescript-language-server"))
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
	starts := func() string { // the parts of a question that permission rules see
		class := toolrun.Classify(lsp, tool.Call{Name: "LSP", Input: []byte(`{"operation":"documentSymbol","file_path":"shape.go"}`), Dir: f.dir})
		for _, a := range class.Access {
			if a.Kind == permission.RunCommand && a.Dir == f.dir && !class.ReadOnly {
				return a.Target
			}
		}
		return ""
	}
	if got := starts(); got != server.Command {
		t.Errorf("the first question runs the command %q", got)
	}
	t.Cleanup(func() {
		if got := starts(); got != "" {
			t.Errorf("a later question runs the command %q", got)
		}
	})
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
			"*2 places of 1 file; nothing has been changed yet*-var größe = \"🙂\" + name*+var größe = \"🙂\" + label*-const name = \"ß\"\n+const label = \"ß\"*"},
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

func TestLSPWithTypeScript(t *testing.T) {
	server := typeScript(t)
	f := plant(t, "package.json={}", `tsconfig.json={"compilerOptions":{"strict":true}}`,
		// A TypeScript that the repository brings along is not run.
		"node_modules/typescript/package.json={\"name\":\"typescript\",\"version\":\"5.9.9\"}",
		"node_modules/typescript/lib/tsserver.js=require('fs').writeFileSync(__dirname + '/../../../hacked', '')",
		"src/shape.ts=export interface Shape {\n  area(): number;\n}\n\nexport class Square implements Shape {\n  constructor(private side: number) {}\n  area() { return this.side ** 2; }\n}\n",
		"src/sum.ts=import { Shape } from './shape';\n\nexport function total(all: Shape[]): number {\n  return all.reduce((s, x) => s + x.area(), 0);\n}\n\nconst wrong: number = 'text';\n",
	)
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	for _, c := range []struct {
		name  string
		input in
		want  string
	}{
		{"definition", in{"operation": "goToDefinition", "file_path": "src/sum.ts", "line": 3, "query": "Shape"}, "src/shape.ts:1:18: export interface Shape {"},
		{"references", in{"operation": "findReferences", "file_path": "src/shape.ts", "line": 1, "query": "Shape"}, "*src/shape.ts:1:18: export interface Shape {*src/sum.ts:3:28: export function total(all: Shape[]): number {"},
		{"implementation", in{"operation": "goToImplementation", "file_path": "src/shape.ts", "line": 1, "query": "Shape"}, "src/shape.ts:5:14: export class Square implements Shape {"},
		{"hover", in{"operation": "hover", "file_path": "src/sum.ts", "line": 3, "query": "total"}, "*function total(all: Shape[]): number*"},
		{"symbols of a file", in{"operation": "documentSymbol", "file_path": "src/shape.ts"}, "*1: interface Shape\n2:   method area*5: class Square*"},
		{"symbols of the workspace", in{"operation": "workspaceSymbol", "query": "Square", "file_path": "src/sum.ts"}, "*src/shape.ts:5:1: class Square*"},
		{"incoming", in{"operation": "incomingCalls", "file_path": "src/shape.ts", "line": 2, "query": "area"}, "*called at src/sum.ts:4*"},
		{"diagnostics", in{"operation": "diagnostics", "file_path": "src/sum.ts"}, "*src/sum.ts:7:7: error: Type 'string' is not assignable to type 'number'. (typescript)*"},
		{"rename", in{"operation": "rename", "file_path": "src/shape.ts", "line": 1, "query": "Shape", "new_name": "Form"}, "*+export interface Form {*+import { Form } from './shape';*"},
	} {
		if c.name == "definition" { // cold, with no file open
			if r := f.call(lsp, in{"operation": "workspaceSymbol", "query": "Square"}); r.IsError || !strings.Contains(r.Text(), "src/shape.ts:5:1: class Square") {
				t.Errorf("at first: %s", f.text(r))
			}
		}
		t.Run(c.name, func(t *testing.T) {
			f.T = t
			r := f.call(lsp, c.input)
			if got := f.text(r); r.IsError || !like(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(f.dir, "hacked")); err == nil {
		t.Error("code of the repository was run")
	}
}

// TestLSPSeesChanges: the answer is about the files as they are now, after changes by any
// program.
func TestLSPSeesChanges(t *testing.T) {
	server := gopls(t)
	f := plant(t, module...)
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	ask := func(operation, file string, line int, name, want string) {
		t.Helper()
		r := f.call(lsp, in{"operation": operation, "file_path": file, "line": line, "query": name})
		if got := f.text(r); r.IsError || !like(got, want) {
			t.Errorf("%s of %s: got %s\nwant %s", operation, name, got, want)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ask("goToDefinition", "sum.go", 3, "Shape", "shape.go:4:6: *")
	write("shape.go", "package shapes\n\n\n\n\n\ntype Shape interface{ Area() float64 }\n") // open
	ask("goToDefinition", "sum.go", 3, "Shape", "shape.go:7:6: *")
	write("new.go", "package shapes\n\nfunc fresh() float64 { return total(nil) }\n") // not known yet
	ask("incomingCalls", "sum.go", 3, "total", "*function fresh, called at new.go:3*")
	write("new.go", "package shapes\n\n// moved\nfunc fresh() float64 { return total(nil) }\n") // known, not open
	ask("incomingCalls", "sum.go", 3, "total", "*called at new.go:4*")
	if err := os.Remove(filepath.Join(f.dir, "new.go")); err != nil {
		t.Fatal(err)
	}
	ask("findReferences", "sum.go", 3, "total", "sum.go:3:6: *sum.go:11:55: func twice(all []Shape) float64 { return total(all) + total(all) }")
	write("sum.go", "package shapes\n\nfunc other(all []Shape) {}\n") // the file asked about
	ask("goToDefinition", "sum.go", 3, "other", "sum.go:3:6: *")
}

func TestLSPInput(t *testing.T) {
	f := plant(t, "a.go=package a\n\nfunc f() {}\n", "big.go="+strings.Repeat("// x\n", 1<<20), "secret/s.go=package s\n", "d/x.txt")
	f.unreadable = []string{"secret/"}
	outside := filepath.Join(t.TempDir(), "o.go")
	if err := os.WriteFile(outside, []byte("package o\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	lsp := tools.LSP(openLanguages(t, f.ws))
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"operation": "goToDefinition"}, "goToDefinition needs file_path"},
		{in{"operation": "hover", "file_path": "a.go"}, "hover needs line, and character or query"},
		{in{"operation": "hover", "file_path": "a.go", "line": 1}, "hover needs character, or in query the name on that line"},
		{in{"operation": "hover", "file_path": "a.go", "line": 9, "character": 1}, "DIR/a.go has 3 lines; there is no line 9"},
		{in{"operation": "hover", "file_path": "a.go", "line": 3, "character": 99}, "line 3 of DIR/a.go has 11 characters; there is no character 99: func f() {}"},
		{in{"operation": "hover", "file_path": "a.go", "line": 3, "query": "g"}, "\"g\" is not in line 3 of DIR/a.go: func f() {}"},
		{in{"operation": "workspaceSymbol"}, "workspaceSymbol needs query: the name to look for, or a part of it"},
		{in{"operation": "rename", "file_path": "a.go", "line": 3, "query": "f"}, "rename needs new_name"},
		{in{"operation": "rename", "file_path": "a.go", "line": 3, "query": "f", "new_name": strings.Repeat("x", 300)}, "query and new_name may have 200 bytes at most"},
		{in{"operation": "documentSymbol", "file_path": "b.go"}, "DIR/b.go does not exist. Did you mean DIR/a.go?"},
		{in{"operation": "documentSymbol", "file_path": "d"}, "DIR/d is a folder; LSP is asked about files."},
		{in{"operation": "documentSymbol", "file_path": "big.go"}, "DIR/big.go is too large for a language server: more than 4 MB"},
		{in{"operation": "documentSymbol", "file_path": outside}, "* is outside the folders that tools may use: DIR"},
		{in{"operation": "documentSymbol", "file_path": "secret/s.go"}, "DIR/secret/s.go may not be read: a rule forbids it."},
	} {
		r := f.call(lsp, c.input)
		if got := f.text(r); !r.IsError || !like(got, c.want) {
			t.Errorf("%v: %s", c.input, got)
		}
	}
	if _, err := lsp.Run(t.Context(), tool.Call{Name: "LSP", Input: []byte(`{"operation":"rm"}`), Dir: f.dir}); err == nil {
		t.Error("an operation that there is not")
	}
	class := toolrun.Classify(lsp, tool.Call{Name: "LSP", Input: []byte(`{"operation":"documentSymbol","file_path":"a.go"}`), Dir: f.dir})
	if want := filepath.Join(f.dir, "a.go"); !class.ReadOnly || len(class.Access) != 1 || class.Access[0].Kind != permission.ReadFile || class.Access[0].Target != want {
		t.Errorf("%+v", class)
	}
}

func TestLSPContract(t *testing.T) {
	f := plant(t, "a.go=package a\n")
	t.Chdir(f.dir)
	tooltest.Check(t, tools.LSP(openLanguages(t, f.ws)))
}

func TestLSPHidesFiles(t *testing.T) {
	server := gopls(t)
	f := plant(t, "go.mod=module example.com/m\n\ngo 1.21\n", "a.go=package m\n\nfunc open() { closed() }\n\nvar k, n = key, 'é'\n\nvar v hidden\n",
		"hidden.go=package m\n\n// hunter2\nfunc closed() { open() }\n\nconst key hidden = \"hunter2\"\n\ntype hidden string // hunter2\n")
	f.unreadable = []string{"hidden.go"}
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"operation": "goToDefinition", "file_path": "a.go", "line": 3, "query": "closed"}, "Nothing was found for \"closed\".\n(1 result was left out: rules forbid reading the files.)"},
		{in{"operation": "findReferences", "file_path": "a.go", "line": 3, "query": "open"}, "a.go:3:6: func open() { closed() }\n(1 result was left out: rules forbid reading the files.)"},
		{in{"operation": "incomingCalls", "file_path": "a.go", "line": 3, "query": "open"}, "*(1 result was left out: *"},
		{in{"operation": "rename", "file_path": "a.go", "line": 3, "query": "open", "new_name": "x"}, "The change in 1 place of 1 file; *+func x() { closed() }*(1 result was left out: *"},
		{in{"operation": "diagnostics", "file_path": "hidden.go"}, "*may not be read*"},
		{in{"operation": "hover", "file_path": "a.go", "line": 3, "query": "open"}, "*func open()*"},
		{in{"operation": "hover", "file_path": "a.go", "line": 3, "query": "closed"}, "What gopls says is left out: rules forbid reading the file that it is from."},
		{in{"operation": "hover", "file_path": "a.go", "line": 5, "query": "key"}, "What gopls says is left out: rules forbid reading the file that it is from."},
		{in{"operation": "hover", "file_path": "a.go", "line": 5, "query": "k"}, "What gopls says is left out: rules forbid reading the file that it is from."},
		{in{"operation": "hover", "file_path": "a.go", "line": 7, "query": "hidden"}, "What gopls says is left out: rules forbid reading the file that it is from."},
		{in{"operation": "hover", "file_path": "a.go", "line": 5, "query": "'é'"}, "*the server does not tell where it is from."},
	} {
		r := f.call(lsp, c.input)
		got := f.text(r)
		if !like(got, c.want) || strings.Contains(got, "func closed") || strings.Contains(got, "hunter2") {
			t.Errorf("%v: got %s\nwant %s", c.input, got, c.want)
		}
	}
}

// TestLSPOutsideTheRoots: where the standard library defines something is shown,
// its text is not.
func TestLSPOutsideTheRoots(t *testing.T) {
	server := gopls(t)
	f := plant(t, "go.mod=module example.com/m\n\ngo 1.21\n", "a.go=package m\n\nimport \"strings\"\n\nvar x = strings.ToUpper(\"a\")\n")
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	r := f.call(lsp, in{"operation": "goToDefinition", "file_path": "a.go", "line": 5, "query": "ToUpper"})
	if got := f.text(r); r.IsError || !like(got, "/*/src/strings/strings.go:*") || strings.Contains(got, "func") {
		t.Errorf("%s", got)
	}
}

func TestLSPManyResults(t *testing.T) {
	server := gopls(t)
	f := plant(t, "go.mod=module example.com/m\n\ngo 1.21\n", "a.go=package m\n\nvar x int\n\nfunc f() {\n"+strings.Repeat("\tx++\n", 1000)+"}\n")
	lsp := tools.LSP(openLanguages(t, f.ws, server))
	r := f.call(lsp, in{"operation": "findReferences", "file_path": "a.go", "line": 3, "query": "x"})
	if got := f.text(r); r.IsError || strings.Count(got, "\n") != 200 || !strings.HasSuffix(got, "(200 of 1001 results are shown.)") {
		t.Errorf("%d lines, ending in %.100s", strings.Count(got, "\n"), got[max(0, len(got)-100):])
	}
	if want := `"results":200,"found":1001,"files":1,"truncated":true`; !strings.Contains(string(r.Details), want) {
		t.Errorf("details %s", r.Details)
	}
}

// BenchmarkLSP asks a warm gopls about this repository.
func BenchmarkLSP(b *testing.B) {
	server := gopls(b)
	root, err := filepath.Abs("..")
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile("edit.go")
	if err != nil {
		b.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "tool.New(")
	line := strings.Count(before, "\n") + 1
	ws := &workspace.Workspace{Root: root}
	lsp := tools.LSP(openLanguages(b, ws, server))
	for _, operation := range []string{"goToDefinition", "findReferences", "hover"} {
		b.Run(operation, func(b *testing.B) {
			ask := func() {
				input := fmt.Appendf(nil, `{"operation":%q,"file_path":"tools/edit.go","line":%d,"query":"New"}`, operation, line)
				r, err := lsp.Run(b.Context(), tool.Call{ID: "c", Name: "LSP", Dir: root, Input: input})
				if err != nil || r.IsError {
					b.Fatalf("%+v, %v", r, err)
				}
			}
			ask()
			for b.Loop() {
				ask()
			}
		})
	}
}
