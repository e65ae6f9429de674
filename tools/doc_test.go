package tools_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

var update = flag.Bool("update", false, "write docs/tools.md")

// TestDocs keeps docs/tools.md equal to the text generated from the code.
func TestDocs(t *testing.T) {
	d := newDoc(t)
	page, err := os.ReadFile(filepath.Join("testdata", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("..", "examples", "09-script-tool", "tools", "tides.sh"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.NewReplacer("{table}\n", d.table(), "{script}\n", string(script)).Replace(d.fill(string(page)))
	d.unusedLimits()
	golden.File(t, "../docs/tools.md", got, *update)
}

// oneServer is a connected MCP server.
type oneServer struct{ toolapi.Resources }

func (oneServer) Servers() []string { return []string{"s"} }

// A doc is the source of the page.
type doc struct {
	*testing.T
	dir       string // the root of the built-ins' workspace
	tools     []tools.Entry
	needs     map[string][]string // tool → fields of Builtins without which it is not there
	tests     map[string]bool     // names of the tests beside the code
	constants map[string]*types.Package
	used      map[string]bool // constants that the page tells
}

func newDoc(t *testing.T) *doc {
	d := &doc{T: t, needs: map[string][]string{}, tests: map[string]bool{}, constants: map[string]*types.Package{}, used: map[string]bool{}}
	kit := fullKit(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kit.Languages = tools.NewLanguages(kit.Workspace.(*workspace.Workspace), []tools.LanguageServer{{Name: "gopls", Command: self, Extensions: map[string]string{".go": "go"}}})
	t.Cleanup(func() {
		if err := kit.Languages.Close(); err != nil {
			t.Error(err)
		}
	})
	kit.Skills, kit.Resources = skill.New(&skill.Skill{Name: "review"}), resourcesOf(oneServer{})
	d.dir, d.tools = kit.Workspace.(*workspace.Workspace).Root, kit.Tools()
	d.findNeeds(kit)
	for _, dir := range []string{".", "../internal/customtools", "../internal/gitworktree", ".."} {
		d.findTests(dir)
	}
	return d
}

// findNeeds takes the fields of the kit away, one after the other, and sees which
// tools are gone.
func (d *doc) findNeeds(kit tools.Builtins) {
	fields := reflect.TypeFor[tools.Builtins]()
	for i := range fields.NumField() {
		less := kit
		reflect.ValueOf(&less).Elem().Field(i).SetZero()
		left := map[string]bool{}
		for _, e := range less.Tools() {
			left[e.Tool.Spec().Name] = true
		}
		for _, e := range d.tools {
			if name := e.Tool.Spec().Name; !left[name] {
				d.needs[name] = append(d.needs[name], fields.Field(i).Name)
			}
		}
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func (d *doc) findTests(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		d.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			d.Fatal(err)
		}
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			d.tests[string(m[1])] = true
		}
	}
}

func (d *doc) table() string {
	var b strings.Builder
	b.WriteString("| tool | tier | does | rules match | fields | limits | needs | proved by |\n|---|---|---|---|---|---|---|---|\n")
	names := map[string]bool{}
	for _, e := range d.tools {
		s := e.Tool.Spec()
		names[s.Name] = true
		row, ok := toolRows[s.Name]
		if !ok {
			d.Errorf("%s has no row in toolRows", s.Name)
			continue
		}
		name := "**" + s.Name + "**"
		if len(s.Aliases) > 0 {
			name += " (" + strings.Join(s.Aliases, ", ") + ")"
		}
		does, rules := d.classes(e.Tool, row.calls)
		cells := []string{name, string(e.Tier), does, rules, d.fields(s.Input), d.limits(s, row.limits), d.offered(e.Tool), d.proofs(s.Name, row.tests)}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	for _, name := range slices.Sorted(maps.Keys(toolRows)) {
		if !names[name] {
			d.Errorf("toolRows has %s, the kit has not", name)
		}
	}
	return b.String()
}

// classes describes the traits of the calls, and the rules that match them.
func (d *doc) classes(t tool.Tool, calls []string) (does, rules string) {
	s := t.Spec()
	if s.Batch {
		return "as its calls do", "its calls"
	}
	var words, forms []string
	add := func(list *[]string, word string) {
		if !slices.Contains(*list, word) {
			*list = append(*list, word)
		}
	}
	for _, input := range calls {
		call := tool.Call{Name: s.Name, Dir: d.dir, Input: json.RawMessage(input)}
		if in, ok := toolStates[s.Name]; ok {
			call.Dir = filepath.Join(d.dir, filepath.FromSlash(in.folder))
			call.State = json.RawMessage(strings.ReplaceAll(in.state, "ROOT", d.dir))
		}
		c := toolrun.Classify(t, call)
		kinds := map[permission.AccessKind]bool{}
		for _, a := range c.Access {
			kinds[a.Kind] = true
			add(&forms, ruleForms[a.Kind])
		}
		switch {
		case c.ConfirmReason != "":
			add(&words, "asks")
		case s.NeedsPerson:
			add(&words, "asks, changes nothing")
		case c.Internal:
			add(&words, "internal")
		case kinds[permission.RunCommand]:
			add(&words, "runs a command")
		case kinds[permission.EditFile]:
			add(&words, "edits files")
		case c.ReadOnly:
			add(&words, "reads")
		default:
			add(&words, "changes")
		}
	}
	if s.OpenWorld {
		words = append(words, "reaches out")
	}
	return strings.Join(words, ", "), cmp.Or(strings.Join(forms, ", "), "its name")
}

var ruleForms = map[permission.AccessKind]string{
	permission.ReadFile: "path", permission.EditFile: "path", permission.RunCommand: "command", permission.FetchURL: "domain", permission.UseName: "name",
}

// fields lists the members of an input in their order, those required with a star.
func (d *doc) fields(schema json.RawMessage) string {
	var in struct {
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &in); err != nil {
		d.Fatal(err)
	}
	if in.Properties == nil {
		return "none"
	}
	var names []string
	dec := json.NewDecoder(bytes.NewReader(in.Properties))
	if _, err := dec.Token(); err != nil {
		d.Fatal(err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			d.Fatal(err)
		}
		if err := dec.Decode(new(json.RawMessage)); err != nil {
			d.Fatal(err)
		}
		star := ""
		if slices.Contains(in.Required, name.(string)) {
			star = "*"
		}
		names = append(names, fmt.Sprintf("`%s`%s", name, star))
	}
	return strings.Join(names, " ")
}

func (d *doc) limits(s tool.Spec, text string) string {
	var all []string
	if text != "" {
		all = append(all, d.fill(text))
	}
	switch {
	case s.Timeout < 0:
		all = append(all, "no time limit")
	case s.Timeout > 0:
		all = append(all, "ended after "+span(s.Timeout))
	}
	return cmp.Or(strings.Join(all, "; "), "those of all tools")
}

// offered says when a model sees the tool.
func (d *doc) offered(t tool.Tool) string {
	s := t.Spec()
	var all []string
	for _, field := range d.needs[s.Name] {
		all = append(all, "`"+field+"`")
	}
	if s.NeedsPerson {
		all = append(all, "somebody to ask")
	}
	if _, ok := t.(interface {
		Over(deferred []tool.Spec) tool.Tool
	}); ok {
		all = append(all, "deferred tools")
	}
	if len(s.Replaces) > 0 {
		all = append(all, "a model that patches, for which it replaces "+strings.Join(s.Replaces, ", "))
	}
	return cmp.Or(strings.Join(all, ", "), "nothing")
}

func (d *doc) proofs(name string, tests []string) string {
	if len(tests) == 0 {
		d.Errorf("no test proves %s", name)
	}
	for _, test := range tests {
		if !d.tests[test] {
			d.Errorf("%s is to be proved by %s, and there is no such test", name, test)
		}
	}
	return strings.Join(tests, ", ")
}

// mark stands for a constant: {n tools.maxReadLines}. n is a number, size a
// number of bytes, ms and time are lengths of time.
var mark = regexp.MustCompile(`\{(n|size|ms|time) (\w+)\.(\w+)\}`)

// fill puts the values of constants in the place of their marks.
func (d *doc) fill(text string) string {
	return mark.ReplaceAllStringFunc(text, func(m string) string {
		p := mark.FindStringSubmatch(m)
		n := d.constant(p[2], p[3])
		switch p[1] {
		case "size":
			return size(n)
		case "ms":
			return span(time.Duration(n) * time.Millisecond)
		case "time":
			return span(time.Duration(n))
		}
		return number(n)
	})
}

// constant returns the value of a constant of a package of this module.
func (d *doc) constant(pkg, name string) int64 {
	d.used[pkg+"."+name] = true
	c, ok := d.load(pkg).Scope().Lookup(name).(*types.Const)
	if !ok {
		d.Errorf("there is no constant %s.%s", pkg, name)
		return 0
	}
	n, exact := constant.Int64Val(constant.ToInt(c.Val()))
	if !exact {
		d.Errorf("%s.%s is not a whole number", pkg, name)
	}
	return n
}

var codeFolders = map[string]string{
	"tools": ".", "media": "../internal/media", "custom": "../internal/customtools", "engine": "../internal/engine", "team": "../internal/teamstore", "cron": "../internal/cronstore", "toolrun": "../internal/toolrun", "tooloutput": "../internal/tooloutput", "workspace": "../workspace",
	"trigger": "../internal/triggerstore", "web": "../internal/web", "agent": "..",
	"tool":    "../tool",
	"toolapi": "../internal/toolapi", "gitworktree": "../internal/gitworktree",
}

// load reads the constants of a package.
func (d *doc) load(pkg string) *types.Package {
	if p := d.constants[pkg]; p != nil {
		return p
	}
	dir, ok := codeFolders[pkg]
	if !ok {
		d.Fatalf("where is package %s?", pkg)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		d.Fatal(err)
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_windows.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			d.Fatal(err)
		}
		f.Decls = slices.DeleteFunc(f.Decls, func(decl ast.Decl) bool { // constants, and those in their expressions, are wanted
			g, ok := decl.(*ast.GenDecl)
			return !ok || g.Tok == token.VAR
		})
		parsed = append(parsed, f)
	}
	config := types.Config{Importer: clock{}, Error: func(error) {}} // values that need other packages stay unknown
	p, _ := config.Check(pkg, fset, parsed, nil)
	d.constants[pkg] = p
	return p
}

// A clock imports nothing but the units of package time.
type clock struct{}

func (clock) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, fmt.Errorf("%s is not needed", path)
	}
	p := types.NewPackage("time", "time")
	duration := types.NewNamed(types.NewTypeName(token.NoPos, p, "Duration", nil), types.Typ[types.Int64], nil)
	p.Scope().Insert(duration.Obj())
	for name, d := range map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
		"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour} {
		p.Scope().Insert(types.NewConst(token.NoPos, p, name, duration, constant.MakeInt64(int64(d))))
	}
	p.MarkComplete()
	return p, nil
}

var limitName = regexp.MustCompile(`^(max|default)[A-Z]`)

// unusedLimits finds limits of package tools that neither the page tells nor
// quietLimits has.
func (d *doc) unusedLimits() {
	scope := d.load("tools").Scope()
	quiet := strings.Fields(quietLimits)
	for _, name := range scope.Names() {
		if _, ok := scope.Lookup(name).(*types.Const); ok && limitName.MatchString(name) && !d.used["tools."+name] && !slices.Contains(quiet, name) {
			d.Errorf("docs/tools.md does not tell the limit %s; add it to toolRows, or to quietLimits if nobody notices it", name)
		}
	}
	for _, name := range quiet {
		if scope.Lookup(name) == nil {
			d.Errorf("quietLimits has %s, package tools has not", name)
		}
	}
}

func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<18) == 0:
		return strconv.FormatFloat(float64(n)/(1<<20), 'f', -1, 64) + " MB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return number(n>>10) + " KB"
	}
	return number(n) + " bytes"
}

func span(t time.Duration) string {
	switch {
	case t >= time.Hour && t%time.Hour == 0:
		return fmt.Sprintf("%d h", t/time.Hour)
	case t >= time.Minute && t%time.Minute == 0:
		return fmt.Sprintf("%d min", t/time.Minute)
	case t%time.Second == 0:
		return fmt.Sprintf("%d s", t/time.Second)
	}
	return t.String()
}
