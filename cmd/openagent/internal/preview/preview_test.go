package preview

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

func bashCall(t *testing.T, command string) (tool.Call, []rules.Risk) {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	call := tool.Call{Name: "Bash", Input: input, Dir: "/w"}
	r := permission.Request{Tool: "Bash", Dir: "/w", Roots: []string{"/w"}, Access: []permission.Access{{Kind: permission.RunCommand, Target: command}}}
	return call, policies.Risks(r)
}

// A question shows all of a command, the risky part first, and nothing is invisible.
func TestQuestionShowsAll(t *testing.T) {
	h := &cli.IO{Secrets: []string{"sk-SECRETSECRET"}}
	for _, c := range []struct {
		command string
		want    []string // lines
	}{
		{"mkdir a", []string{"? Bash mkdir a"}},
		{"echo " + strings.Repeat("a", 5000) + " && rm -rf ./important", []string{
			"! rm -rf ./important: rm deletes", "? Bash echo " + strings.Repeat("a", 5000) + " && rm -rf ./important"}},
		{"ls -la # list the files\nrm -rf ./important", []string{
			"! rm -rf ./important: rm deletes", "? Bash, a command of 2 lines:", "  1 | ls -la # list the files", "  2 | rm -rf ./important"}},
		{"ls\n\n\n\n\n\n\nmkdir a", []string{
			"! mkdir a: mkdir is not known to be read-only", "? Bash, a command of 8 lines:", "  1 | ls", "    | [6 empty lines]", "  8 | mkdir a"}},
		{"ls\n\nmkdir a\n", []string{
			"! mkdir a: mkdir is not known to be read-only", "? Bash, a command of 3 lines:", "  1 | ls", "  2 |", "  3 | mkdir a"}},
		{"mkdir a\u200b\u3164b\u00ad", []string{"! the command line is not understood in full: command line holds characters that cannot be seen", `? Bash mkdir a\u{200b}\u{3164}b\u{ad}`}},
		{"mkdir a\rls", []string{"! the command line is not understood in full: command line holds characters that cannot be seen", `? Bash mkdir a\u{d}ls`}},
		{"mkdir p\u0430y", []string{"! it is not what it looks like: \"p\u0430y\": \u0430 is U+0430", "? Bash mkdir p\u0430y"}},
		{"mkdir sk-SECRETSECRET", []string{"? Bash mkdir [secret]"}},
		{"echo x > /etc/x; mkdir a", []string{
			"! > /etc/x: /etc/x is not known to be in the working folders", "! mkdir a: mkdir is not known to be read-only", "? Bash echo x > /etc/x; mkdir a"}},
	} {
		call, risks := bashCall(t, c.command)
		got := strings.Split(strings.TrimSuffix(PlainText(CallLines(h, "", call, risks, "")), "\n"), "\n")
		if c.want[0] == "? Bash mkdir [secret]" {
			if strings.Contains(strings.Join(got, ""), "SECRET") {
				t.Errorf("%q", got)
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%.60q:\n%q\nwant\n%q", c.command, got, c.want)
		}
	}
}

// Every member of an input is shown, in whatever form it comes.
func TestQuestionShowsEveryMember(t *testing.T) {
	h := new(cli.IO)
	input := `{"command":"ls","run_in_background":true,"description":"harm\u2063less","x":{"deep":["` + strings.Repeat("a", 100) + `"]},"text":"one\ntwo"}`
	got := PlainText(CallLines(h, "scout: ", tool.Call{Name: "Run\u202e", Input: json.RawMessage(input)}, nil, "+added\u200b\n-gone\n"))
	for _, want := range []string{`? scout: Run\u{202e} ls` + "\n", "  run_in_background: true\n", `  description: harm\u{2063}less` + "\n", "  x, 5 lines:\n", `"` + strings.Repeat("a", 100) + `"`,
		"  text, 2 lines:\n  1 | one\n  2 | two\n", `  +added\u{200b}` + "\n  -gone\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := PlainText(CallLines(h, "", tool.Call{Name: "Odd", Input: json.RawMessage(`[1,"two"]`)}, nil, "")); !strings.Contains(got, `input: [1,"two"]`) {
		t.Error(got)
	}
}
