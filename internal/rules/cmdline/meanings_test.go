package cmdline

import (
	"math/rand/v2"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/permtest"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// meanings is compared with what bash makes of words.
func TestMeaningsDifferential(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to compare with")
	}
	random := rand.New(rand.NewPCG(5, 6))
	parts := strings.Fields(`{ { } } , , .. a b s e 1 3 '{' "," \, \{ \} $PWD ~+ ~ / / . $((1+1)) ${#x} "$PWD" "" * ? [ab] [!a] - '"'`)
	var words []string
	for range 400 {
		var w strings.Builder
		for range 1 + random.IntN(9) {
			w.WriteString(parts[random.IntN(len(parts))])
		}
		words = append(words, w.String())
	}
	words = append(words, "{secret,}/x", "{a..c}{1..3}", "{,{,a}b}", "{a,b}{c", "a{b,{c,d}", "{~,b}/x", "{~+,b}/x", "{a..bb}", "{1..a}", "{,}", "a{,}", "{a,b\\,c}", "x{-3..3}")
	dir := permtest.Tree(t)
	var script strings.Builder
	var kept []string
	for _, w := range words {
		if c, err := shellscan.Scan("cat " + w); err == nil && c.Unclear == "" && len(c.List) == 1 && len(c.Redirects) == 0 {
			kept = append(kept, w)
			script.WriteString("printf '%s\\0' " + w + "; printf '\\001\\0'\n")
		}
	}
	if len(kept) < 200 {
		t.Fatalf("only %d words are shell", len(kept))
	}
	cmd := exec.Command(bash, "-c", script.String())
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + filepath.Dir(dir)}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Dir(dir))
	fields := strings.Split(string(out), "\x00")
	for _, w := range kept {
		end := slices.Index(fields, "\x01")
		results := fields[:end]
		fields = fields[end+1:]
		s := NewLine(paths.NewContext(dir, nil), "cat "+w)
		if !s.known(paths.NewPattern("none", paths.FoldCase), s.List[0].In, s.List[0].Words[0]) {
			continue
		}
		for _, r := range results {
			if r == "" || strings.HasPrefix(r, "-") {
				continue
			}
			file := path.Clean(join(dir, strings.Replace(r, "~", "./~", min(1, strings.Count(r[:1], "~")))))
			if !slices.ContainsFunc(s.List[0].Words, func(x shellword.Word) bool {
				return s.named(paths.NewPattern("/"+paths.Anchor("/"+paths.EscapeGlob(strings.TrimPrefix(file, "/")), "/")[1:], paths.FoldCase), s.List[0].In, x)
			}) {
				t.Errorf("%s: bash makes %q of it, which is not foreseen: %+v", w, r, s.List[0].Words)
			}
		}
	}
}
