package shellscan

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// The text of a here-document that is printed is what bash makes of it.
func TestDocumentText(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to compare with")
	}
	random := rand.New(rand.NewPCG(7, 8))
	parts := []string{"a", " ", "\n", "\n", "\\", "\\\n", "'", `"`, "(", ")", "$", "${x}", "`", "E", "\t", "#", "\\$", "{", "*", "é"}
	known := 0
	for range 150 {
		var doc strings.Builder
		for range 1 + random.IntN(8) {
			doc.WriteString(parts[random.IntN(len(parts))])
		}
		line := "\"$(cat <<" + []string{"E", "'E'", `"E"`, `\E`}[random.IntN(4)] + "\n" + doc.String() + "\nE\n)\""
		c, err := Scan("printf %s " + line)
		if err != nil || c.Unclear != "" || len(c.List) != 1 || strings.Contains(strings.Join(c.List[0].Args, ""), shellword.Unknown) {
			continue
		}
		known++
		out, err := exec.Command(bash, "-c", "printf %s "+line).Output()
		if err != nil || string(out) != c.List[0].Args[1] {
			t.Errorf("%q is %q in bash (%v), but %q is expected", line, out, err, c.List[0].Args[1])
		}
	}
	if known < 30 {
		t.Errorf("only %d documents are known", known)
	}
}
