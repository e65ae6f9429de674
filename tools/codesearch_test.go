package tools_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

func TestCodeSearch(t *testing.T) {
	f := plant(t,
		"a/config.go=package a\n\n// ParseConfig reads it.\nfunc ParseConfig(text string) {}\n\nfunc parseConfigFile() {}\n\ntype ConfigParser struct{}\n",
		"a/config_test.go=package a\n\nfunc ParseConfig_test() {}\nfunc TestParseConfig(t *testing.T) { ParseConfig(\"\") }\n",
		"b/load.py=def parse_config(text):\n    return text\n\nclass Loader:\n    pass\n",
		"c/use.ts=import { parseConfig } from './x';\n\nparseConfig('a');\n",
		"notes.md=How to parse a config:\nparse it, then use the config. Parse every config.\n",
		"long.md="+strings.Repeat("nothing here\n", 5000)+"to parse a config\n",
		".gitignore=out/\n", "out/gen.go=package out\n\nfunc ParseConfig() {}\n",
		"secret/s.go=package s\n\nfunc ParseConfig() {}\n",
		"bin.dat=parse config \x00 ParseConfig\n",
	)
	f.unreadable = []string{"secret/"}
	search := tools.NewSearch(f.ws)
	for _, c := range []struct {
		name  string
		input in
		want  string
	}{
		{"exact name first", in{"query": "ParseConfig", "kind": "symbol"},
			"a/config.go:4: function ParseConfig: func ParseConfig(text string) {}\n" +
				"b/load.py:1: function parse_config: def parse_config(text):\n" +
				"a/config.go:6: function parseConfigFile: func parseConfigFile() {}\n" +
				"a/config_test.go:3: function ParseConfig_test: func ParseConfig_test() {}\n" +
				"a/config_test.go:4: function TestParseConfig: func TestParseConfig(t *testing.T) { ParseConfig(\"\") }\n" +
				"a/config.go:8: struct ConfigParser: type ConfigParser struct{}"},
		{"words", in{"query": "config parse", "kind": "symbol", "limit": 3},
			"a/config.go:4: function ParseConfig: *b/load.py:1: function parse_config: *a/config.go:6: function parseConfigFile: *(6 definitions and 0 lines of text were found; *"},
		{"parts of words", in{"query": "onfigPars", "kind": "symbol"}, "a/config.go:8: struct ConfigParser: type ConfigParser struct{}*"},
		{"the densest text first", in{"query": "parse config", "kind": "text", "path": "."},
			"*notes.md:1: How to parse a config:\nnotes.md:2: parse it*long.md:5001: to parse a config"},
		{"both", in{"query": "Loader"}, "b/load.py:4: class Loader: class Loader:"},
		{"text that is no name", in{"query": "./x'"}, "c/use.ts:1: import { parseConfig } from './x';*"},
		{"in a folder", in{"query": "parseConfig", "path": "c"}, "c/use.ts:1: import { parseConfig } from './x';\nc/use.ts:3: parseConfig('a');"},
		{"in a file", in{"query": "parseConfig", "path": "b/load.py"}, "b/load.py:1: function parse_config: def parse_config(text):"},
		{"an ignored folder by name", in{"query": "ParseConfig", "path": "out"}, "out/gen.go:3: function ParseConfig: func ParseConfig() {}"},
		{"nothing", in{"query": "zebra"}, `Nothing was found for "zebra" in 7 files. 1 file or folder was left out*`},
		{"punctuation", in{"query": "'a');"}, "c/use.ts:3: parseConfig('a');*"},
		{"empty", in{"query": "  "}, "error: query is empty*"},
		{"lines", in{"query": "a\nb"}, "error: query has several lines*"},
		{"long", in{"query": strings.Repeat("x", 300)}, "error: query has 300 bytes*"},
		{"no such folder", in{"query": "x", "path": "aa"}, "error: DIR/aa does not exist.*"},
		{"outside", in{"query": "x", "path": "../.."}, "error: * is outside the folders that tools may use: DIR"},
		{"hidden file", in{"query": "x", "path": "secret/s.go"}, "error: DIR/secret/s.go may not be read: a rule forbids it."},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.T = t
			r := f.call(search, c.input)
			got := f.text(r)
			if r.IsError {
				got = "error: " + got
			}
			if !like(got, c.want) || strings.Contains(got, "secret/s.go:") {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
	f.T = t
	class := toolrun.Classify(search, tool.Call{Name: "CodeSearch", Input: []byte(`{"query":"x","path":"a"}`), Dir: f.dir})
	if want := filepath.Join(f.dir, "a"); !class.ReadOnly || len(class.Access) != 1 || class.Access[0] != (permission.Access{Kind: permission.ReadFile, Target: want}) {
		t.Errorf("%+v", class)
	}
	for _, input := range []string{`{}`, `{"query":"x","kind":"file"}`, `{"query":"x","limit":0}`, `{"query":"x","limit":1000}`} {
		if _, err := search.Run(t.Context(), tool.Call{Name: "CodeSearch", Input: []byte(input), Dir: f.dir}); err == nil {
			t.Errorf("%s was taken", input)
		}
	}
	tooltest.Check(t, search)
}

// TestCodeSearchLarge: the answer is bounded whatever there is to be found.
func TestCodeSearchLarge(t *testing.T) {
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "func item%d() {} // item %s\n", i, strings.Repeat("x", i%300))
	}
	f := plant(t, "many.go="+many.String(), "wide.go=func itemWide() { "+strings.Repeat("item ", 1<<20)+"}\n")
	r := f.call(tools.NewSearch(f.ws), in{"query": "item", "limit": 200})
	if got := f.text(r); r.IsError || len(got) > 200*(maxShown+50) || strings.Count(got, "\n") != 200 || !strings.Contains(got, "definitions and") {
		t.Errorf("%d bytes, %d lines, ending in %s", len(got), strings.Count(got, "\n"), got[max(0, len(got)-200):])
	}
	if want := `"truncated":true`; !strings.Contains(string(r.Details), want) {
		t.Errorf("details %s", r.Details)
	}
	r = f.call(tools.NewSearch(f.ws), in{"query": "item19999"})
	if got := f.text(r); !like(got, "many.go:20000: function item19999: *") {
		t.Errorf("%.300s", got)
	}
}

// maxShown is how many characters of a line are shown at most.
const maxShown = 200

func TestCodeSearchCancelledAndAtOnce(t *testing.T) {
	f := plant(t, "a.go=package a\n\nfunc Same() {}\n")
	search := tools.NewSearch(f.ws)
	call := tool.Call{ID: "c", Name: "CodeSearch", Input: []byte(`{"query":"Same"}`), Dir: f.dir}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := search.Run(ended, call); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if r, err := search.Run(t.Context(), call); err != nil || r.IsError || !strings.HasPrefix(r.Text(), "a.go:3: function Same") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	group.Wait()
}

// TestCodeSearchHere finds what this repository is known to hold.
func TestCodeSearchHere(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: root}
	defer ws.Close()
	for query, want := range map[string]string{
		"CodeSearch": filepath.FromSlash("tools/codesearch.go:"),
		"maxHitText": filepath.FromSlash("tools/codesearch.go:"),
	} {
		r, err := tools.NewSearch(ws).Run(t.Context(), tool.Call{ID: "c", Name: "CodeSearch", Input: tooltest.Input(t, in{"query": query, "kind": "symbol"}), Dir: root})
		if err != nil || r.IsError || !strings.HasPrefix(r.Text(), want) {
			t.Errorf("%s: %v %.200s", query, err, r.Text())
		}
	}
}

func TestCodeSearchFollowsNoLinks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "o.go")
	if err := os.WriteFile(outside, []byte("package o\n\nfunc Outside() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := plant(t, "a.go=package a\n", "link.go->"+outside)
	if r := f.call(tools.NewSearch(f.ws), in{"query": "Outside"}); strings.Contains(r.Text(), "func") {
		t.Errorf("%s", r.Text())
	}
}
