package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// tmuxed starts the terminal UI in a window of tmux.
func tmuxed(t *testing.T, home string, w, h int, server *llmtest.Server, args string) *termtest.Tmux {
	t.Helper()
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	return termtest.StartTmux(t, w, h, t.TempDir(), "exec '"+path+"' "+args, uiEnv(home, server)...)
}

func uiEnv(home string, server *llmtest.Server) []string {
	return []string{"HOME=" + home, "CI=true", "ANTHROPIC_API_KEY=sk-test-SECRETSECRET", "ANTHROPIC_BASE_URL=" + server.URL,
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + quickEnd}
}

// Pasted text is one message, however long it is, and nothing of it is lost.
func TestUIPastes(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Say("got message 1"), llmtest.Say("got message 2"), llmtest.Say("got message 3"))
	prompt := func(n int) string {
		r := server.Requests()[n]
		return r.Messages[len(r.Messages)-1].Text()
	}
	m := tmuxed(t, t.TempDir(), 100, 30, server, "")
	m.Sees("❯")
	var sixty, big strings.Builder
	for i := range 60 {
		fmt.Fprintf(&sixty, "line %d of a paste\n", i+1)
	}
	for i := range 5000 {
		fmt.Fprintf(&big, "line %d of a big paste\n", i+1)
	}
	for i, text := range []string{sixty.String(), big.String()} {
		m.Paste(text)
		m.Sees("paste")
		m.Keys("Enter")
		m.Sees(fmt.Sprintf("got message %d", i+1))
		if last := prompt(i); !strings.Contains(last, strings.TrimSpace(text)) {
			t.Errorf("of a paste of %d bytes the model got %d", len(text), len(last))
		}
	}
	m.Type("日本語のテキスト \U0001f44d ok")
	m.Keys("C-a", "Right", "Right", "BSpace", "C-e", "BSpace")
	m.Sees("日語のテキスト")
	m.Keys("Enter")
	m.Sees("got message 3")
	if last := prompt(2); !strings.HasSuffix(last, "日語のテキスト \U0001f44d o") {
		t.Errorf("the model got %q", last)
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d messages were sent", n)
	}
}

// A killed program's draft is offered by the next one.
func TestUIKeepsTheDraft(t *testing.T) {
	t.Parallel()
	home, server := t.TempDir(), llmtest.NewServer(t)
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	start := func() *termtest.Tmux {
		return termtest.StartTmux(t, 80, 24, dir, "echo $$ >"+home+"/pid; exec '"+path+"'", uiEnv(home, server)...)
	}
	m := start()
	m.Sees("❯")
	m.Type("half a thought")
	m.Sees("half a thought")
	m.Until("the draft is kept", func() bool {
		files, _ := filepath.Glob(filepath.Join(home, ".openagent", "terminal", "*", "draft-*.txt"))
		return len(files) == 1
	})
	text, err := os.ReadFile(filepath.Join(home, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m.Until("it has been killed", func() bool { return !m.Alive() })
	m = start()
	m.Sees("❯ half a thought")
}

// Every line of an answer is there once, after eight sizes, and while it comes.
func TestUISizes(t *testing.T) {
	t.Parallel()
	const lines = 200
	var answer strings.Builder
	for i := range lines {
		fmt.Fprintf(&answer, "para: line number %d of a long answer\n\n", i+1)
	}
	server := llmtest.NewServer(t, llmtest.Step{Text: answer.String(), Pieces: 1000, EventDelay: 2 * time.Millisecond})
	m := tmuxed(t, t.TempDir(), 100, 40, server, "")
	m.Sees("❯")
	m.Type("write")
	m.Keys("Enter")
	check := func(when string) {
		t.Helper()
		var found []string
		number := regexp.MustCompile(`^para: line number (\d+) of a long answer$`)
		for _, l := range m.Lines() {
			if hit := number.FindStringSubmatch(l); hit != nil {
				found = append(found, hit[1])
			}
		}
		var want []string
		for i := range lines {
			want = append(want, fmt.Sprint(i+1))
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s: %d of %d lines are there, or not in order: %v", when, len(found), lines, found)
		}
	}
	sizes := [][2]int{{118, 40}, {90, 40}, {60, 40}, {140, 40}, {100, 30}, {100, 20}, {100, 50}, {100, 40}}
	for i := 0; !strings.Contains(m.Screen(), "done"); i++ {
		m.Resize(sizes[i%len(sizes)][0], sizes[i%len(sizes)][1])
		if i%5 == 4 {
			m.Settles() // else nothing would be painted in between
		}
	}
	check("while it came")
	for _, s := range sizes {
		m.Resize(s[0], s[1])
		m.Settles()
		check(fmt.Sprint(s))
	}
}

// A long session is opened while its end is on the screen already. What it has cost is all
// there, and what is written meanwhile is sent.
func TestUIContinuesALongSession(t *testing.T) {
	t.Parallel()
	const calls = 200
	dir, work := t.TempDir(), t.TempDir()
	usage := llm.Usage{Input: 10, Output: 10} // 2 cents
	var steps []llmtest.Step
	for i := range calls {
		steps = append(steps, llmtest.Step{Calls: []llm.ToolUse{llmtest.Use("", "Look", map[string]int{"n": i})}, Usage: usage})
	}
	model := llmtest.Script(append(steps, llmtest.Step{Text: "I have looked at everything.", Usage: usage})...)
	model.Facts.Price = &llm.Price{Input: 1000, Output: 1000}
	type in struct {
		N int `json:"n"`
	}
	look := tool.Func(tool.Spec{Name: "Look", Description: "looks", ReadOnly: true}, func(context.Context, in) (string, error) { return "nothing", nil })
	a := &agent.Agent{Model: model, Tools: []tool.Tool{look}, Sessions: session.Dir(dir), Dir: work}
	s := a.Session("")
	if _, err := s.Prompt(t.Context(), "Look at everything."); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	server := llmtest.NewServer(t, llmtest.Say("And now I rest."))
	m := tmuxed(t, t.TempDir(), 100, 30, server, "--cwd "+work+" --session-dir "+dir+" --resume "+s.ID)
	m.Sees("I have looked at everything.")
	m.Until("the cost of all is shown", func() bool { return strings.Count(m.Screen(), "$4.02") == 2 })
	m.Type("go on")
	m.Keys("Enter")
	m.Sees("And now I rest.")
	if all := strings.Join(m.Lines(), "\n"); !strings.Contains(all, fmt.Sprintf("the end of %d messages", 2*calls+2)) {
		t.Errorf("the number of messages is not shown:\n%s", all)
	}
}

// Ctrl-Z gives the terminal back to the shell.
func TestUISuspends(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	server := llmtest.NewServer(t, llmtest.Say("an answer"))
	m := termtest.StartTmux(t, 80, 24, t.TempDir(), "env PS1='$ ' HISTFILE= bash --norc -i", uiEnv(t.TempDir(), server)...)
	m.Sees("$")
	m.Type("'" + path + "'")
	m.Keys("Enter")
	m.Sees("❯")
	m.Type("a draft")
	m.Sees("❯ a draft")
	m.Keys("C-z")
	m.Sees("Stopped")
	m.Type("echo in the $((20+1))st shell")
	m.Keys("Enter")
	m.Sees("in the 21st shell")
	m.Type("fg")
	m.Keys("Enter")
	m.Sees("❯ a draft")
	m.Keys("Enter")
	m.Sees("an answer")
	m.Sees("done")
	m.Keys("C-d")
	m.Sees("openagent --resume")
	m.Type("echo $((30+4)) after it")
	m.Keys("Enter")
	m.Sees("34 after it")
}

// A person chooses a session when the program starts, another one of another folder later, and
// works on in its folder.
func TestUIPicksSessions(t *testing.T) {
	t.Parallel()
	home, here, there := t.TempDir(), t.TempDir(), t.TempDir()
	server := llmtest.NewServer(t, llmtest.Say("One."), llmtest.Say("Two."), llmtest.Step{Calls: []llm.ToolUse{llmtest.Use("w", "Bash", map[string]string{"command": "pwd"})}}, llmtest.Say("Three."))
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	for dir, prompt := range map[string]string{here: "the first of them", there: "the one elsewhere"} {
		cmd := exec.Command(path, "-p", prompt)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), uiEnv(home, server)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	m := termtest.StartTmux(t, 100, 24, here, "exec '"+path+"' -cc", uiEnv(home, server)...)
	m.Sees("▸ the first of them")
	m.Sees("1 prompt")
	m.Keys("Space")
	m.Sees("❯ the first of them")
	m.Keys("C-r")
	m.Sees("new title: the first of them")
	m.Type(" all")
	m.Keys("Enter")
	m.Sees("▸ the first of them all")
	m.Keys("Enter")
	m.Sees("asks before changes")
	m.Sees("❯ the first of them")
	m.Type("/resume")
	m.Keys("Enter")
	m.Sees("ctrl+a all")
	m.Keys("C-a")
	m.Sees("▸ the one elsewhere")
	m.Keys("Enter")
	m.Sees("❯ the one elsewhere")
	m.Type("where are you?")
	m.Keys("Enter")
	m.Sees("Three.")
	m.Keys("C-d")
	m.Sees("continues this conversation")
	requests := server.Requests()
	last := requests[len(requests)-1]
	if said := fmt.Sprint(last.Messages); !strings.Contains(said, there) || !strings.Contains(said, "the one elsewhere") {
		t.Errorf("the model got %s", said)
	}
}
