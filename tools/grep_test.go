package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func TestGrep(t *testing.T) {
	f := plant(t,
		"a.go=package a\n\nfunc Foo() {}\n\nfunc bar() {}\n",
		"b.txt=one\ntwo foo\nthree\nfour\nfive foo\n",
		"src/c.go=func Foo(\n\tx int,\n) {}\n",
		"src/c_test.go=func TestFoo() {}\n",
		"src/d.ts=const foo = 1;\r\nlet bar = foo;\r\n",
		".hidden/e.go=func Foo() {}\n",
		".gitignore=ignored/\n", "ignored/f.go=func Foo() {}\n",
		"bin=foo\x00bar\n",
		"link.go->a.go",
	)
	if filepath.Separator != '/' {
		t.Skip("the paths of this system look different")
	}
	tests := []struct {
		name  string
		input in
		want  string
	}{
		{"files, newest first", in{"pattern": "foo"}, "src/d.ts\nb.txt"},
		{"ignore case", in{"pattern": "foo", "-i": true}, "src/d.ts\nsrc/c_test.go\nsrc/c.go\nb.txt\na.go"},
		{"content", in{"pattern": "^func", "output_mode": "content"}, "a.go:3:func Foo() {}\na.go:5:func bar() {}\nsrc/c.go:1:func Foo(\nsrc/c_test.go:1:func TestFoo() {}"},
		{"no numbers", in{"pattern": "two", "output_mode": "content", "-n": false}, "b.txt:two foo"},
		{"context", in{"pattern": "foo", "output_mode": "content", "-A": 1, "path": "b.txt"}, "b.txt:2:two foo\nb.txt-3-three\n--\nb.txt:5:five foo"},
		{"context meets", in{"pattern": "foo", "output_mode": "content", "-C": 1, "path": "b.txt"}, "b.txt-1-one\nb.txt:2:two foo\nb.txt-3-three\nb.txt-4-four\nb.txt:5:five foo"},
		{"context by its long name", in{"pattern": "two", "output_mode": "content", "context": 1}, "b.txt-1-one\nb.txt:2:two foo\nb.txt-3-three"},
		{"context without numbers", in{"pattern": "three", "output_mode": "content", "-B": 1, "-n": false}, "b.txt-two foo\nb.txt:three"},
		{"no context, no separator", in{"pattern": "foo", "output_mode": "content", "glob": "*.txt"}, "b.txt:2:two foo\nb.txt:5:five foo"},
		{"separator between files", in{"pattern": "one|const", "output_mode": "content", "-A": 1}, "b.txt:1:one\nb.txt-2-two foo\n--\nsrc/d.ts:1:const foo = 1;\nsrc/d.ts-2-let bar = foo;"},
		{"count", in{"pattern": "foo", "output_mode": "count"}, "b.txt:2\nsrc/d.ts:2\n(matching lines: 4, in files: 2.)"},
		{"glob by name", in{"pattern": "Foo", "glob": "*.go"}, "src/c_test.go\nsrc/c.go\na.go"},
		{"glob by path", in{"pattern": "Foo", "glob": "src/*.go"}, "src/c_test.go\nsrc/c.go"},
		{"glob from the folder", in{"pattern": "Foo", "glob": "/*.go"}, "a.go"},
		{"globs", in{"pattern": "(?i)foo", "glob": "*.{go,ts}, !*_test.go"}, "src/d.ts\nsrc/c.go\na.go"},
		{"excluded folder", in{"pattern": "(?i)foo", "glob": "!src"}, "b.txt\na.go"},
		{"hidden on demand", in{"pattern": "Foo", "glob": ".hidden/**"}, ".hidden/e.go"},
		{"hidden path", in{"pattern": "Foo", "path": ".hidden"}, ".hidden/e.go"},
		{"ignored path", in{"pattern": "Foo", "path": "ignored"}, "ignored/f.go"},
		{"type", in{"pattern": "foo", "type": "ts"}, "src/d.ts"},
		{"type and glob", in{"pattern": "Foo", "type": "go", "glob": "src/**"}, "src/c_test.go\nsrc/c.go"},
		{"multiline", in{"pattern": `Foo\(.*int`, "multiline": true, "output_mode": "content"}, "src/c.go:1:func Foo(\nsrc/c.go:2:\tx int,"},
		{"multiline count", in{"pattern": "foo", "multiline": true, "output_mode": "count"}, "b.txt:2\nsrc/d.ts:2\n(matches: 4, in files: 2.)"},
		{"head_limit", in{"pattern": "foo", "output_mode": "content", "head_limit": 3}, "b.txt:2:two foo\nb.txt:5:five foo\nsrc/d.ts:1:const foo = 1;\n(Results 1 to 3 are shown. There are more: use offset 3, or narrow the search.)"},
		{"offset", in{"pattern": "foo", "output_mode": "content", "head_limit": 2, "offset": 2}, "src/d.ts:1:const foo = 1;\nsrc/d.ts:2:let bar = foo;"},
		{"separator after an offset", in{"pattern": "foo", "output_mode": "content", "-A": 1, "offset": 1, "path": "b.txt"}, "b.txt-3-three\n--\nb.txt:5:five foo"},
		{"limit of files", in{"pattern": "(?i)foo", "head_limit": 1, "offset": 1}, "src/c_test.go\n(Results 2 to 2 are shown. There are more: use offset 2, or narrow the search.)"},
		{"limit of counts", in{"pattern": "foo", "output_mode": "count", "head_limit": 1}, "b.txt:2\n(matching lines: 4, in files: 2.)\n(Results 1 to 1 are shown. There are more: use offset 1, or narrow the search.)"},
		{"all", in{"pattern": "foo", "head_limit": 0}, "src/d.ts\nb.txt"},
		{"offset behind the end", in{"pattern": "foo", "offset": 9}, "There is nothing after offset 9: the search has 2 results."},
		{"nothing", in{"pattern": "nope"}, `No files matched the pattern "nope". 1 file or folder was left out because git ignores them; name an ignored folder in path to search it.`},
		{"no content", in{"pattern": "nope", "output_mode": "content", "path": "src"}, `No matches found for pattern "nope".`},
		{"no file", in{"pattern": "foo", "path": "src", "type": "rust"}, `No files matched the pattern "foo". There was no file to search in DIR/src.`},
		{"binary", in{"pattern": "foo", "path": "bin"}, `No files matched the pattern "foo". It is a binary file, which is not searched.`},
		{"lookahead", in{"pattern": "foo(?=bar)"}, "error: The pattern \"foo(?=bar)\" cannot be used: lookahead and lookbehind are not supported (the syntax is RE2): match more, and choose among the results. invalid or unsupported Perl syntax: \"(?=\"."},
		{"empty", in{"pattern": ""}, "error: The pattern is empty."},
		{"no such path", in{"pattern": "x", "path": "b.tx"}, "error: DIR/b.tx does not exist. Did you mean DIR/b.txt?"},
		{"bad glob", in{"pattern": "x", "glob": "*.{go"}, `error: the glob "*.{go" is not valid: a "{" is not closed (write \{ for a literal brace)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.T = t
			r := f.call(tools.Grep(f.ws), tt.input)
			got := f.text(r)
			if r.IsError {
				got = "error: " + got
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if r := f.call(tools.Grep(f.ws), in{"pattern": "x", "type": "golang"}); !r.IsError || !strings.Contains(r.Text(), `"golang" is not known`) || !strings.Contains(r.Text(), "go, ") {
		t.Errorf("unknown type: %s", r.Text())
	}
}

func TestGrepInput(t *testing.T) {
	f := plant(t, "a=x")
	for _, input := range []string{
		`{"pattern":"x","output_mode":"lines"}`, `{"pattern":"x","-A":-1}`, `{"pattern":"x","-C":100000}`,
		`{"pattern":"x","head_limit":-5}`, `{"pattern":"x","offset":-1}`, `{"pattern":"x","-X":1}`, `{}`,
	} {
		if _, err := tools.Grep(f.ws).Run(t.Context(), tool.Call{Input: []byte(input), Dir: f.dir}); err == nil {
			t.Errorf("%s is taken", input)
		}
	}
}

func TestGrepOutsideDir(t *testing.T) {
	f := plant(t, "a/x=word", "b/y=word")
	r, err := tools.Grep(f.ws).Run(t.Context(), tool.Call{Input: []byte(`{"pattern":"word","path":".."}`), Dir: filepath.Join(f.dir, "a")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.text(r), filepath.Join("DIR", "b", "y")+"\nx"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGrepUnlimited(t *testing.T) {
	f := plant(t, "a="+strings.Repeat(strings.Repeat("x", 100)+"\n", 20000), "b=x\n")
	r := f.call(tools.Grep(f.ws), in{"pattern": "x", "output_mode": "content", "head_limit": 0})
	if len(r.Text()) > 3<<20 || !strings.Contains(r.Text(), "There are more") || !strings.Contains(string(r.Details), `"truncated":true`) {
		t.Errorf("%d bytes, %s", len(r.Text()), r.Details)
	}
	r = f.call(tools.Grep(f.ws), in{"pattern": "x", "output_mode": "content", "offset": 15000})
	if got := f.text(r); got != "There is too much text before offset 15000: narrow the search." {
		t.Errorf("%.200s", got)
	}
}

// forest is a tree of 20,000 small files.
func forest(b *testing.B) *workspace.Workspace {
	b.Helper()
	dir := b.TempDir()
	text := strings.Repeat("\tif err := s.report(ctx, state); err != nil {\n\t\treturn err\n\t}\n", 40)
	for i := range 20000 {
		folder := filepath.Join(dir, fmt.Sprintf("d%d/e%d", i%20, i%400))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			b.Fatal(err)
		}
		content := text
		if i%1000 == 0 {
			content += "\tfmt.Println(needle)\n"
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.go", i)), []byte(content), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return &workspace.Workspace{Root: dir}
}

func BenchmarkSearch(b *testing.B) {
	ws := forest(b)
	for _, bm := range []struct {
		name  string
		tool  tool.Tool
		input string
		want  string
	}{
		{"GrepLiteral", tools.Grep(ws), `{"pattern":"needle"}`, "f1000.go"},
		{"GrepRegexp", tools.Grep(ws), `{"pattern":"fmt\\.Print\\w+\\(n","output_mode":"content"}`, "f1000.go:"},
		{"GrepNoNeedle", tools.Grep(ws), `{"pattern":"[x-z]{3,}|[n]ee","output_mode":"count"}`, "f1000.go:"},
		{"GrepFirst", tools.Grep(ws), `{"pattern":"report","head_limit":10}`, ".go"},
		{"Glob", tools.Glob(ws), `{"pattern":"**/*7.{go,md}"}`, "7.go"},
		{"GlobOne", tools.Glob(ws), `{"pattern":"d7/**/*.go"}`, "7.go"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := bm.tool.Run(b.Context(), tool.Call{Input: []byte(bm.input)})
				if err != nil || !strings.Contains(r.Text(), bm.want) {
					b.Fatal(err, r)
				}
			}
		})
	}
}
