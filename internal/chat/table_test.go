package chat

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/golden"
	"github.com/openagent-go/agent/llm"
)

var update = flag.Bool("update", false, "write the table of profiles into docs/providers.md")

// TestProfileTable makes the table of docs/providers.md from the profiles.
func TestProfileTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| profile | found at | key | limit | thinking: low, max, off | sent back | forced call | other |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range append(Profiles(), local, generic) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", p.Name, code(p.Hosts...), code(p.Keys...), cmp.Or(code(strings.Fields(p.Limit)...), "by model"),
			thinkingCell(&p), cmp.Or(code(strings.Fields(string(p.Echo))...), "no"), forceCell(&p), otherCell(&p))
	}
	golden.Tables(t, "../../docs/providers.md", map[string]string{"profiles": b.String()}, *update)
}

func code(words ...string) string {
	var out []string
	for _, w := range words {
		out = append(out, "`"+w+"`")
	}
	return strings.Join(out, " ")
}

// thinkingCell shows what is sent, of the profile and of each rule that changes it.
func thinkingCell(p *Profile) string {
	show := func(t target) string {
		low, _ := t.asking(llm.Thought{Effort: "low"})
		most, _ := t.asking(llm.Thought{Effort: "max"})
		var out []string
		for _, s := range []string{low, most, t.unthinking()} {
			s = strings.ReplaceAll(strings.TrimPrefix(s, ","), `"`, "")
			s = strings.NewReplacer("chat_template_kwargs", "kwargs", ",reasoning_effort:", " ", "reasoning_effort:", "").Replace(s)
			out = append(out, cmp.Or(code(strings.Fields(s)...), "–"))
		}
		if out[0] == "–" && out[1] == "–" && out[2] == "–" {
			return "–"
		}
		return strings.Join(out, ", ")
	}
	if p.Name == "azure" {
		return "as openai" // the same rules
	}
	cells := []string{}
	for _, r := range p.Rules {
		if r.Ask != "" || r.Efforts != nil {
			cells = append(cells, code(r.Models)+" "+show(p.target(strings.NewReplacer("*", "", "[0-9]", "9", "[2-9]", "2", "[4-9]", "4", "[23]", "2", "[6-9]", "6", "[3-9]", "3", "[56]", "5", "[5-9]", "5", "[7-9]", "7", "[12]", "1").Replace(r.Models))))
		}
	}
	base := p.target("\x00")
	return strings.Join(append(cells, "else "+show(base)), "<br>")
}

func forceCell(p *Profile) string {
	words := map[Force]string{ForceAlways: "yes", ForceAny: "any tool only", ForceThinking: "thinking is switched off for it", ForceNever: "left out"}
	out := words[p.Force]
	for _, r := range p.Rules {
		if r.Force != "" {
			out += "<br>" + code(r.Models) + " " + words[r.Force]
		}
	}
	return out
}

func otherCell(p *Profile) string {
	var out []string
	add := func(on bool, s string) {
		if on {
			out = append(out, s)
		}
	}
	add(p.KeyHeader != "", "key in "+code(p.KeyHeader))
	add(p.Keyless, "asked without a key")
	add(p.NoStreamOptions, "no `stream_options`")
	add(p.NoStop, "no stop sequences")
	add(p.Hottest > 0, fmt.Sprint("temperature ≤ ", p.Hottest))
	add(p.IDs == IDsNine, "ids of nine letters and digits")
	add(p.AnswersFirst, "the model speaks between results and the user")
	add(p.Signatures, "signatures of calls")
	add(p.Schemas == SchemasGoogle, "schemas cut to OpenAPI")
	add(p.Formats, "`json_schema`")
	add(p.Files, "PDF")
	add(p.MakersPrices, "prices of the makers")
	add(p.NoImages, "no images")
	add(p.NoGIF, "no GIF")
	add(len(p.Members) > 0, code(string(p.Members)))
	for _, r := range p.Rules {
		add(r.NoSamplers, code(r.Models)+" no temperature")
		add(r.PlainTools, code(r.Models)+" with tools does not think")
	}
	return strings.Join(out, "; ")
}
