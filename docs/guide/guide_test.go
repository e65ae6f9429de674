// Package guide tests the programs of the guides: each is built outside the module, as
// a reader who copies it would build it, and runs against a model that plays the
// answers that the page gives.
package guide

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/outside"
	"github.com/openagent-go/agent/llm/llmtest"
)

var update = flag.Bool("update", false, "write what the programs print into the pages")

// A program is a main package of a page, or a package with tests.
type program struct {
	page    string
	line    int               // of its first block
	pkg     string            // the package clause of its files, without _test
	files   map[string]string // by name
	answers []script
	prints  string // the block below the program
	shows   bool   // there is such a block
}

// A script holds the answers of the model in one conversation.
type script struct {
	first string // how the first message of the conversation begins; "": any
	steps []llmtest.Step
}

func (p *program) name() string {
	return fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(p.page), ".md"), p.line)
}

func (p *program) isTest() bool {
	for name := range p.files {
		if strings.HasSuffix(name, "_test.go") {
			return true
		}
	}
	return false
}

// A block is a fenced block of a page, or a comment with answers.
type block struct {
	line int
	lang string // "answers": a comment
	info string // the rest of the first line
	text string
}

// blocks returns the fenced blocks and the answers of a page, in order.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	var open *block
	end := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch info, fence := strings.CutPrefix(line, "```"); {
		case open != nil && line == end:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case fence:
			lang, info, _ := strings.Cut(info, " ")
			open, end = &block{line: n, lang: lang, info: info}, "```"
		case strings.HasPrefix(line, "<!-- answers"):
			open, end = &block{line: n, lang: "answers", info: strings.TrimSpace(strings.TrimPrefix(line, "<!-- answers"))}, "-->"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block has no end", page, open.line)
	}
	return all
}

// programs returns the programs of a page. Blocks that begin with a package clause are
// files: main.go, unless the rest of the block's first line names another file. main.go
// begins a program, and so does another package. The other Go blocks are returned as
// excerpts.
func programs(t *testing.T, page string) (found []*program, excerpts []block) {
	t.Helper()
	var answers []script
	var last *program
	for _, b := range blocks(t, page) {
		switch {
		case b.lang == "answers":
			answers = append(answers, script{b.info, steps(t, page, b)})
		case b.lang == "go" && isFile(b.text):
			name := b.info
			if name == "" {
				name = "main.go"
			}
			pkg := strings.TrimSuffix(packageClause.FindString(b.text), "_test")
			if last == nil || name == "main.go" || pkg != last.pkg || last.files[name] != "" {
				last = &program{page: page, line: b.line, pkg: pkg, files: map[string]string{}, answers: answers}
				found, answers = append(found, last), nil
			}
			last.files[name] = b.text
		case b.lang == "go":
			excerpts = append(excerpts, b)
		case b.lang == "text" && b.info == "" && last != nil && !last.shows:
			last.prints, last.shows = b.text, true
		}
	}
	if len(answers) > 0 {
		t.Errorf("%s: answers without a program", page)
	}
	return found, excerpts
}

var packageClause = regexp.MustCompile(`(?m)^package \w+$`)

func isFile(text string) bool { return packageClause.MatchString(text) }

// steps reads answers, one a line: "say TEXT", "call TOOL INPUT", or "and TOOL INPUT"
// for a further call of the same answer.
func steps(t *testing.T, page string, b block) (all []llmtest.Step) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		name, input, _ := strings.Cut(rest, " ")
		isCall := json.Valid([]byte(input))
		switch {
		case verb == "say":
			all = append(all, llmtest.Say(rest))
		case verb == "call" && isCall:
			all = append(all, llmtest.Call(llmtest.Use("", name, json.RawMessage(input))))
		case verb == "and" && isCall && len(all) > 0:
			last := &all[len(all)-1]
			last.Calls = append(last.Calls, llmtest.Use("", name, json.RawMessage(input)))
		default:
			t.Fatalf("%s:%d: not an answer: %s", page, b.line+i+1, line)
		}
	}
	return all
}

// TestPrograms builds and runs every program of the guides.
func TestPrograms(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no guides", err)
	}
	var all []*program
	for _, page := range pages {
		found, _ := programs(t, page)
		if len(found) == 0 && page != "README.md" {
			t.Errorf("%s has no program", page)
		}
		all = append(all, found...)
	}
	dir := module(t, all)
	build(t, dir, all)
	for _, p := range all {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			got := p.run(t, dir)
			if !p.shows {
				return
			}
			if *update && got != p.prints {
				rewrite(t, p, got)
			} else if got != p.prints {
				t.Errorf("%s:%d prints:\n%sthe page says:\n%s(-update accepts it)", p.page, p.line, got, p.prints)
			}
		})
	}
}

// TestExcerpts checks that the excerpts in the guides are lines of a program: of a
// guide, of examples/ or of a test file of the library.
func TestExcerpts(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, page := range pages {
		found, _ := programs(t, page)
		for _, p := range found {
			for _, text := range p.files {
				sources = append(sources, flat(text))
			}
		}
	}
	for _, pattern := range []string{"../../examples/*/*.go", "../../example*_test.go", "../../*/example*_test.go", "../../*/*/example*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, flat(string(text)))
		}
	}
	for _, page := range pages {
		_, excerpts := programs(t, page)
		for _, b := range excerpts {
			want := flat(b.text)
			if !slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, want) }) {
				t.Errorf("%s:%d: no program has these lines:\n%s", page, b.line, b.text)
			}
		}
	}
}

// codeName is a name of the library in a span of code: package, name and member.
var codeName = regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?`")

// TestNames checks that the names of the library in the guides and the other pages exist.
// Tables that compare words have other libraries' names, or old ones, in their first column.
func TestNames(t *testing.T) {
	names := exported(t)
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../*.md")
	if err != nil || len(more) == 0 {
		t.Fatal("no pages", err)
	}
	pages = append(pages, more...)
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			row, migrating := strings.HasPrefix(line, "|"), page == filepath.Join("..", "migrating.md")
			switch {
			case row && (migrating || page == "moving.md"):
				line = line[strings.Index(line[1:], "|")+1:]
			case migrating: // its sentences name what is gone
				continue
			}
			for _, m := range codeName.FindAllStringSubmatch(line, -1) {
				if strings.HasPrefix(m[2], "Test") || strings.HasPrefix(m[2], "Fuzz") { // internal/arch checks tests
					continue
				}
				name := strings.Join(slices.DeleteFunc(m[1:], func(s string) bool { return s == "" }), ".")
				if names[m[1]+"."+m[2]] || names[m[1]] {
					checked++
					if !names[name] {
						t.Errorf("%s:%d: there is no %s", page, i+1, name)
					}
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d names", checked)
	}
}

// exported returns the names of the library's packages, their exported names, and the
// exported fields and methods of types, such as "agent", "agent.Agent" and
// "agent.Agent.Stream".
func exported(t *testing.T) map[string]bool {
	t.Helper()
	names, embedded := map[string]bool{}, map[string]string{}
	walkLibrary(t, func(_ string, f *ast.File) {
		for _, d := range f.Decls {
			addNames(names, f.Name.Name, d)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if outer, inner := embeds(f.Name.Name, spec); inner != "" {
					embedded[outer] = inner
				}
			}
			return true
		})
	})
	for outer, inner := range embedded {
		for name := range maps.Clone(names) {
			if member, ok := strings.CutPrefix(name, inner+"."); ok {
				names[outer+"."+member] = true
			}
		}
	}
	return names
}

// embeds returns a type with another package's type in it, such as "agent.Result" and
// "event.RunEnd". Its members are those of both.
func embeds(pkg string, spec *ast.TypeSpec) (outer, inner string) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return "", ""
	}
	for _, f := range s.Fields.List {
		if of, ok := f.Type.(*ast.SelectorExpr); ok && len(f.Names) == 0 {
			return pkg + "." + spec.Name.Name, of.X.(*ast.Ident).Name + "." + of.Sel.Name
		}
	}
	return "", ""
}

// walkLibrary calls fn for every file of the library's public packages.
func walkLibrary(t *testing.T, fn func(path string, f *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if slices.Contains([]string{"internal", "cmd", "examples", "benchmarks", "docs", "testdata", "otel"}, d.Name()) || strings.HasPrefix(d.Name(), ".") && path != root {
			return fs.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			fn(path, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func addNames(names map[string]bool, pkg string, d ast.Decl) {
	add := func(id *ast.Ident, more ...string) {
		if id.IsExported() {
			names[pkg] = true
			names[strings.Join(append([]string{pkg}, append(more, id.Name)...), ".")] = true
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name)
			return
		}
		typ := d.Recv.List[0].Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if id, ok := typ.(*ast.Ident); ok {
			add(d.Name, id.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					add(id)
				}
			case *ast.TypeSpec:
				add(spec.Name)
				switch typ := spec.Type.(type) {
				case *ast.StructType:
					for _, f := range typ.Fields.List {
						for _, id := range f.Names {
							add(id, spec.Name.Name)
						}
					}
				case *ast.InterfaceType:
					for _, f := range typ.Methods.List {
						for _, id := range f.Names {
							add(id, spec.Name.Name)
						}
					}
				}
			}
		}
	}
}

// TestErrors checks that the guide to errors has a row for every error variable, with
// its text, and one for every reason why a run ends.
func TestErrors(t *testing.T) {
	page, err := os.ReadFile("errors.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	walkLibrary(t, func(path string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, id := range spec.Names {
				row := ""
				switch value := spec.Values[i].(type) {
				case *ast.CallExpr:
					if fun, ok := value.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "New" && strings.HasPrefix(id.Name, "Err") {
						row = fmt.Sprintf("| `%s.%s` | %s |", f.Name.Name, id.Name, text(t, value.Args[0]))
					}
				case *ast.BasicLit:
					if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "EndReason" {
						row = fmt.Sprintf("| `%s` | `event.%s` |", text(t, value), id.Name)
					}
				}
				if row == "" {
					continue
				}
				found++
				if !strings.Contains(string(page), row) {
					t.Errorf("errors.md has no row %s (%s)", row, path)
				}
			}
			return true
		})
	})
	if found < 60 {
		t.Errorf("only %d errors", found)
	}
}

// TestMessages checks that the messages of bad configuration that the guide to errors lists are
// messages of the library. "…" stands for a value.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("errors.md")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, dir := range []string{"../..", "../../permission", "../../quota", "../../subagent", "../../internal/rules", "../../internal/executor"} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if path != "." && d.IsDir() {
					return fs.SkipDir
				}
				return err
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, path), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					texts = append(texts, text(t, lit))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, table, _ := strings.Cut(string(page), "### Bad configuration\n")
	table, _, _ = strings.Cut(table, "\n### ")
	rows := regexp.MustCompile("(?m)^\\| `([^`]*)` \\|").FindAllStringSubmatch(table, -1)
	if len(rows) < 10 {
		t.Errorf("only %d messages", len(rows))
	}
	for _, row := range rows {
		var words []string
		for _, w := range strings.Split(row[1], "…") {
			words = append(words, regexp.QuoteMeta(strings.TrimSpace(w)))
		}
		message := regexp.MustCompile(strings.Join(words, ".*"))
		if !slices.ContainsFunc(texts, message.MatchString) {
			t.Errorf("no error of the library says %s", row[1])
		}
	}
}

// text returns the value of a string literal.
func text(t *testing.T, e ast.Expr) string {
	t.Helper()
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		t.Fatalf("%T is not a string literal", e)
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// flat returns a text without its indentation.
func flat(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}

// module writes the programs into a module of their own.
func module(t *testing.T, all []*program) string {
	t.Helper()
	dir := outside.Module(t)
	for _, p := range all {
		for name, text := range p.files {
			outside.Write(t, filepath.Join(dir, p.name(), filepath.FromSlash(name)), []byte(text))
		}
	}
	return dir
}

// build builds the programs, and the tests of those that are tests.
func build(t *testing.T, dir string, all []*program) {
	t.Helper()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"-ldflags", "-s -w", "-o", bin + string(filepath.Separator)} // links faster
	for _, p := range all {
		if !p.isTest() {
			args = append(args, "./"+p.name())
		}
	}
	outside.Go(t, dir, "build", args...)
	outside.Command(t, filepath.Join(bin, "openagent")) // for programs that drive it
	for _, p := range all {
		if p.isTest() {
			outside.Go(t, dir, "test", "-c", "-ldflags", "-s -w", "-o", filepath.Join(bin, p.name()), "./"+p.name())
		}
	}
	outside.Go(t, dir, "vet", "./...")
}

// run runs the program in an empty folder. It returns what the program prints, without
// the summary of a test.
func (p *program) run(t *testing.T, dir string) string {
	t.Helper()
	server := &llmtest.Server{Rule: p.answer(t)}
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bin", p.name()))
	cmd.Dir = t.TempDir()
	cmd.Env = append(environ(), "HOME="+cmd.Dir, "PATH="+filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"), "GOCACHE="+buildCache(t), "ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL="+server.URL, "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+server.URL+"/v1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s:%d: %v\n%s", p.page, p.line, err, out)
	}
	for _, v := range server.Violations() {
		t.Errorf("%s:%d: %v", p.page, p.line, v)
	}
	return string(out)
}

// buildCache returns the folder of the build cache, for programs that run go with a home
// of their own.
func buildCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// environ returns the environment without keys and settings of the machine.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		for _, prefix := range []string{"ANTHROPIC_", "OPENAI_", "OPENAGENT_", "HOME="} {
			if strings.HasPrefix(kv, prefix) {
				return true
			}
		}
		return false
	})
}

// answer returns a rule that plays the scripts. Each request gets the next answer of
// the first script that fits its conversation and is not used up.
func (p *program) answer(t *testing.T) llmtest.Rule {
	var mu sync.Mutex
	left := slices.Clone(p.answers)
	return func(r *llmtest.Request, _ int) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		first := ""
		if len(r.Messages) > 0 {
			first = r.Messages[0].Text()
		}
		for i, s := range left {
			if len(s.steps) == 0 || !strings.HasPrefix(first, s.first) {
				continue
			}
			left[i].steps = s.steps[1:]
			return s.steps[0]
		}
		t.Errorf("%s:%d: no answer is left for the conversation that begins with %.60q", p.page, p.line, first)
		return llmtest.Say("There are no more answers.")
	}
}

// rewriting guards the pages while tests rewrite them.
var rewriting sync.Mutex

// rewrite replaces the block below a program.
func rewrite(t *testing.T, p *program, got string) {
	t.Helper()
	rewriting.Lock()
	defer rewriting.Unlock()
	text, err := os.ReadFile(p.page)
	if err != nil {
		t.Fatal(err)
	}
	_, own, _ := strings.Cut(string(text), p.files["main.go"])
	changed := strings.Replace(own, "```text\n"+p.prints+"```", "```text\n"+got+"```", 1)
	if err := os.WriteFile(p.page, []byte(strings.TrimSuffix(string(text), own)+changed), 0o644); err != nil {
		t.Fatal(err)
	}
}
