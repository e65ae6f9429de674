package mcp

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/tool"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	for _, c := range []struct {
		server string
		tools  []string
		want   []string
	}{
		{"files", []string{"read_file", "list-dir"}, []string{"mcp__files__read_file", "mcp__files__list-dir"}},
		{"files", []string{"repo.search"}, []string{"mcp__files__repo_search"}},
		{"files", []string{"a.b", "a_b", "a/b"}, []string{"mcp__files__a_b_*", "mcp__files__a_b", "mcp__files__a_b_*"}},
		{"files", []string{"twice", "twice"}, []string{"mcp__files__twice", ""}},
		{"files", []string{long}, []string{"mcp__files__" + strings.Repeat("x", 43) + "_*"}},
		{"my files", []string{"a"}, []string{"mcp__my_files_*__a"}},
		{"日本", []string{"a", ""}, []string{"mcp___*__a", "mcp___*"}},
	} {
		got := names(c.server, c.tools)
		for i, want := range c.want {
			head, tail, hashed := strings.Cut(want, "*")
			if hashed != (got[i] != want) || !strings.HasPrefix(got[i], head) || !strings.HasSuffix(got[i], tail) {
				t.Errorf("%s %q: %s, not %s", c.server, c.tools[i], got[i], want)
			}
		}
	}
}

// Whatever servers call their tools, the names are legal, no two are the same, and
// they do not depend on the order.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, n int) string {
		from := []rune(letters)
		out := make([]rune, 1+r.IntN(n))
		for i := range out {
			out[i] = from[r.IntN(len(from))]
		}
		return string(out)
	}
	for range 40 {
		seen := map[string]string{}
		servers := map[string]bool{}
		for range 5 {
			if s := word("ab_-. ü", 50); mcpnames.Check(s) == nil {
				servers[s] = true
			}
		}
		for server := range servers {
			var tools []string
			for range 30 {
				tools = append(tools, word("ab_./", 4), word("ab_./ü", 120))
			}
			slices.Sort(tools)
			tools = slices.Compact(tools)
			got := names(server, tools)
			for i, name := range got {
				of := server + "\x00" + tools[i]
				if other, ok := seen[name]; ok {
					t.Fatalf("%q and %q are both %s", other, of, name)
				}
				seen[name] = of
				if err := (tool.Spec{Name: name}).Check(); err != nil {
					t.Fatal(err)
				}
				if server, _, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__"); !ok || "mcp__"+server+"__" != prefix(strings.Split(of, "\x00")[0]) {
					t.Fatalf("the server is not to be read from %s", name)
				}
			}
			mixed := slices.Clone(tools)
			r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			for i, name := range names(server, mixed) {
				if name != got[slices.Index(tools, mixed[i])] {
					t.Fatalf("%q is %s in another order", mixed[i], name)
				}
			}
		}
	}
}
