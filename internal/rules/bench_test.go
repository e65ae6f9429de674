package rules

import (
	"fmt"
	"strings"
	"testing"
)

// manyRules is a policy of 200 rules.
func manyRules() Policy {
	var p Policy
	for i := range 50 {
		p.Allow = append(p.Allow, Rule(fmt.Sprintf("Bash(tool%d *)", i)), Rule(fmt.Sprintf("Edit(/src/part%d/**)", i)))
		p.Ask = append(p.Ask, Rule(fmt.Sprintf("Bash(deploy%d *)", i)))
		p.Deny = append(p.Deny, Rule(fmt.Sprintf("WebFetch(domain:host%d.example)", i)))
	}
	return p
}

// BenchmarkManyRules judges calls by 200 rules.
func BenchmarkManyRules(b *testing.B) {
	dir := b.TempDir()
	for name, r := range map[string]Request{
		"name":    {Tool: "mcp__server__tool", Dir: dir},
		"read":    {Tool: "Read", ReadOnly: true, Dir: dir, Access: []Access{{Kind: ReadFile, Target: dir + "/a"}}},
		"edit":    {Tool: "Edit", Dir: dir, Access: []Access{{Kind: EditFile, Target: dir + "/src/part49/a.go"}}},
		"command": {Tool: "Bash", Dir: dir, Access: []Access{{Kind: RunCommand, Target: "tool49 run ./..."}}},
		"fetch":   {Tool: "WebFetch", ReadOnly: true, Dir: dir, Access: []Access{{Kind: FetchURL, Target: "https://example.com/x"}}},
	} {
		b.Run(name, func(b *testing.B) {
			p := manyRules().Compile()
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(&r)
			}
		})
	}
}

// BenchmarkCommandLine judges command lines of 2 KB: one that was not seen before,
// and one that was.
func BenchmarkCommandLine(b *testing.B) {
	dir := b.TempDir()
	for name, line := range map[string]string{
		"words": "go test " + strings.Repeat("./package ", 200),
		"list":  strings.Repeat("go vet ./... && git diff --stat | grep -v x; ", 45),
		"quote": "git commit -m '" + strings.Repeat("a line of a message\n", 100) + "'",
	} {
		p := (Policy{Allow: []Rule{"Bash(go *)", "Bash(git commit *)"}, Deny: []Rule{"Bash(rm *)", "Read(/.env)"}}).Compile()
		judge := func(b *testing.B, target func(i int) string) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Decide(&Request{Tool: "Bash", Dir: dir, Access: []Access{{Kind: RunCommand, Target: target(i)}}})
			}
		}
		b.Run(name+"/new", func(b *testing.B) { judge(b, func(i int) string { return fmt.Sprint(line, " ", i) }) })
		b.Run(name+"/again", func(b *testing.B) { judge(b, func(int) string { return line }) })
	}
}
