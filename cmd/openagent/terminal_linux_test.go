package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A person sits at a terminal on which the program runs.
type person struct {
	t       *testing.T
	control *os.File
	cmd     *exec.Cmd
	bytes   chan []byte
	seen    string // not yet waited for
	all     strings.Builder
}

// sit starts the program on a terminal, in dir, with a server that plays steps.
func sit(t *testing.T, dir string, env []string, args []string, steps ...llmtest.Step) *person {
	t.Helper()
	return sitAt(t, llmtest.NewServer(t, steps...), dir, env, args)
}

// sitAt starts the program with a server of its own. A conversation is one in plain lines.
func sitAt(t *testing.T, server *llmtest.Server, dir string, env, args []string) *person {
	t.Helper()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		args = append([]string{"--plain"}, args...)
	}
	return sitDown(t, server, dir, env, args)
}

func sitDown(t *testing.T, server *llmtest.Server, dir string, env, args []string) *person {
	t.Helper()
	return sitWide(t, server, dir, env, args, 0)
}

// sitWide starts the program on a terminal that is so wide; 0: it does not know.
func sitWide(t *testing.T, server *llmtest.Server, dir string, env, args []string, width int) *person {
	t.Helper()
	control, terminal := termtest.Open(t, width, min(width, 24))
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "CI=true", "ANTHROPIC_API_KEY=sk-test-SECRETSECRET",
		"ANTHROPIC_BASE_URL=" + server.URL, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + quickEnd}, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	p := &person{t: t, control: control, cmd: cmd, bytes: make(chan []byte, 1024)}
	go func() {
		defer close(p.bytes)
		for {
			b := make([]byte, 4096)
			n, err := control.Read(b)
			if n > 0 {
				p.bytes <- b[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { cmd.Process.Kill() })
	return p
}

// sees waits until the terminal shows something.
func (p *person) sees(pattern string) {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(time.Minute)
	for {
		if at := re.FindStringIndex(p.seen); at != nil {
			p.seen = p.seen[at[1]:]
			return
		}
		select {
		case b, ok := <-p.bytes:
			if !ok {
				p.t.Fatalf("the program ended before it showed %q; last: %q", pattern, p.seen)
			}
			p.seen += string(b)
			p.all.Write(b)
		case <-timeout:
			p.t.Fatalf("the terminal does not show %q; last: %q", pattern, p.seen)
		}
	}
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.control, text); err != nil {
		p.t.Fatal(err)
	}
}

// answers types the answer to a question, once a person can have read it.
func (p *person) answers(text string) {
	p.t.Helper()
	time.Sleep(600 * time.Millisecond)
	p.types(text)
}

// leaves waits for the end of the program and returns its exit code.
func (p *person) leaves() int {
	p.t.Helper()
	for b := range p.bytes {
		p.all.Write(b)
	}
	return exitCode(p.cmd.Wait())
}

func writeStep(name string) llmtest.Step {
	return llmtest.Call(llmtest.Use("", "Write", map[string]string{"file_path": name, "content": "x\n"}))
}

func TestConversation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := sit(t, dir, nil, nil, llmtest.Say("Hello \x1b[35mthere\u202e"), writeStep("n.txt"), writeStep("m.txt"), writeStep("sub/o.txt"), writeStep("sub/p.txt"), llmtest.Say("end"))
	p.sees("> ")
	p.types("hi\n")
	p.sees("Hello ␛\\[35mthere\ufffd")
	p.sees("(?s)done, 1 turn, .*> ")
	p.types("/model\n")
	p.sees("model claude-sonnet-4-6, provider anthropic")
	for _, setting := range [][2]string{
		{"/effort high", "effort: effort high"},
		{"/effort 5000", "effort: up to 5000 tokens"},
		{"/effort off", "effort: off"},
		{"/effort much", "is not one of low"},
		{"/effort 0", "is not one of low"},
		{"/fallback claude-haiku-4-5", "fallback: claude-haiku-4-5"},
		{"/fallback none", "fallback: none"},
		{"/budget turns=50 usd=1.5", `budget: 50 turns, \$1.5`},
		{"/budget turns=none usd=none time=1h", "budget: 1h0m0s"},
		{"/budget turns=-1", "out of range"},
		{"/budget more", "write turns=N"},
		{"/tools Reed", "did you mean Read"},
		{"/tools Read,Edit", "tools: Read, Edit"},
		{"/tools all", "tools: .*Write"},
		{"/model claude-opus-4-6", "model claude-opus-4-6"},
	} {
		p.types(setting[0] + "\n")
		p.sees(setting[1])
	}
	p.types("/budget time=none\n")
	p.sees("budget: no limit")
	p.types("/tools all\n")
	p.sees("tools: .*Write")
	p.types("/model claude-sonnet-4-6\n")
	p.sees("model claude-sonnet-4-6")
	p.types("/mode\n")
	p.sees("mode default; the modes are default, acceptEdits,")
	p.types("/resume\n")
	p.sees("no run was interrupted")
	p.types("/dance\n")
	p.sees("unknown command or skill /dance; /help and /skills list them")
	p.types("/modle\n")
	p.sees(`unknown command or skill /modle; did you mean /model\? `)
	p.types("/mode wild\n")
	p.sees("unknown permission mode")
	p.types("write them\n")
	p.sees(`\? .*Write n.txt`)
	p.sees(`\+ x`)
	p.sees(`1  yes, once(?s).*2  yes, always in this session: .*3  no.*allow Write\? 1 to 4, \? explains: `)
	p.answers("what\n")
	p.sees("this is no answer: write 1, 2, 3")
	p.answers("?\n")
	p.sees("edits files")
	p.answers("1\n")
	p.sees(`\* .*Write.* n.txt`)
	p.sees(`\? .*Write m.txt`)
	p.sees("explains: ")
	p.answers("3 too long\n")
	p.sees(`Write.* m.txt.*\(denied: refused by the user: too long`)
	p.sees("sub/o.txt")
	p.sees("explains: ")
	p.answers("2\n")
	p.sees(`saved Edit\(.*\) in this session`)
	p.sees("sub/p.txt")
	p.sees("end")
	p.sees("> ")
	p.types("/cost\n")
	p.sees(`\$0\.\d+ for \d+ prompts? and \d+ answers?`)
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for name, want := range map[string]bool{"n.txt": true, "m.txt": false, "sub/o.txt": true, "sub/p.txt": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", name, err, want)
		}
	}
	if strings.Contains(p.all.String(), "\x1b[35m") {
		t.Error("an escape sequence of the model reached the terminal")
	}
	if !strings.Contains(p.all.String(), "\x1b[") {
		t.Error("no colours")
	}
}

// A person sees and ends background commands and agents; Ctrl-C and plan mode say which
// commands go on.
func TestConversationStopsBackground(t *testing.T) {
	t.Parallel()
	p := sit(t, t.TempDir(), nil, []string{"--dangerously-skip-permissions"},
		llmtest.Call(llmtest.Use("a", "Agent", map[string]any{"prompt": "work", "description": "work", "run_in_background": true}),
			llmtest.Use("b", "Bash", map[string]any{"command": "sleep 1000", "run_in_background": true})),
		llmtest.Step{Text: "late", Delay: time.Minute}, llmtest.Step{Text: "late", Delay: time.Minute})
	p.sees("> ")
	p.types("/jobs\n")
	p.sees("no background command is running")
	p.types("go\n")
	p.sees("Started in the background as bash_1")
	p.types("/agents\n")
	p.sees("at work: general-purpose, in the background")
	p.types("/agents stop nobody\n")
	p.sees("no such agent is at work")
	p.types("/agents stop all\n")
	p.sees("stopping the agent")
	p.types("\x03")
	p.sees("still running: 1 command in the background")
	p.types("/mode plan\n")
	p.sees("mode plan")
	p.sees("still running: 1 command in the background")
	p.types("/jobs\n")
	p.sees("bash_1  sleep 1000")
	p.types("/jobs stop bash_9\n")
	p.sees("no such job")
	p.types("/jobs stop all\n")
	p.sees("ended the command bash_1")
	p.types("/jobs\n")
	p.sees("no background command is running")
	p.types("/quit\n")
	p.leaves()
}

// A conversation that goes on with an earlier session says where that stands.
func TestConversationGoesOn(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), "HOME="+t.TempDir()
	slow := llmtest.Call(llmtest.Use("b1", "Bash", map[string]string{"command": "for i in 1 2 3 4 5 6 7; do echo line $i; done; exit 3"}))
	p := sit(t, dir, []string{home}, []string{"--dangerously-skip-permissions", "begin"}, slow, llmtest.Say("all is well"), llmtest.Step{Text: "late", Delay: time.Minute})
	p.sees(`Bash.* \(failed, exit 3, `)
	p.sees("line 7")
	p.sees("all is well")
	p.sees("> ")
	p.types("/mode\n")
	p.sees("mode bypassPermissions")
	p.types("more\n")
	p.sees("more")
	waitFor(t, func() bool { return strings.Contains(journal(t, home), `"more"`) })
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.leaves()
	p = sit(t, dir, []string{home}, []string{"--continue"}, llmtest.Say("picked up"), llmtest.Say("bye"))
	p.sees(`all is well(?s).*> .*more`)
	p.sees("was interrupted; /resume continues")
	p.sees("> ")
	p.types("/resume\n")
	p.sees("picked up")
	p.sees("> ")
	p.types("/quit\n")
	p.sees("openagent --resume [-0-9a-f]+ continues this conversation")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p = sit(t, dir, []string{home}, []string{"--continue"})
	p.sees(`> .*more(?s).*picked up`)
	p.types("/quit\n")
	p.leaves()
}

// journal is all that is on record of the sessions below a home.
func journal(t *testing.T, home string) string {
	t.Helper()
	_, dir, _ := strings.Cut(home, "=")
	files, err := filepath.Glob(filepath.Join(dir, ".openagent/sessions/*/*/journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not come about")
}

func TestConversationInterrupted(t *testing.T) {
	t.Parallel()
	slow := llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": "echo ready; sleep 60"}))
	p := sit(t, t.TempDir(), []string{"NO_COLOR=1"}, []string{"--dangerously-skip-permissions", "begin"}, slow, llmtest.Say("better"), slow)
	p.sees(`\(running: Bash echo ready; sleep 60: ready\)`)
	p.types("and tell me why\n")
	p.sees("the agent reads it after its current step")
	p.types("\x03")
	p.sees("stopping")
	p.sees("1 message that the agent has not seen")
	p.sees("> and tell me why") // back in the input
	p.sees(`stopped, 1 turn`)
	p.sees("> ")
	p.types("\x15go on\n") // ctrl+u
	p.sees("better")
	p.sees("> ")
	p.types("\x03")
	p.sees("press ctrl\\+c again to leave")
	p.types("once more\n")
	p.sees(`running: Bash`)
	p.types("\x03")
	p.sees("stopping; press ctrl\\+c again to leave")
	p.types("\x03")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(p.all.String(), "\x1b[") {
		t.Error("colours in spite of NO_COLOR")
	}
}

func TestConversationQuestions(t *testing.T) {
	t.Parallel()
	ask := llmtest.Call(llmtest.Use("q1", "AskUser", map[string]any{"questions": []any{
		map[string]any{"question": "Which colour?\n? forged", "header": "Colour", "options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue"}}},
		map[string]any{"question": "Which fruits?", "multiple": true, "options": []any{map[string]any{"label": "Apple"}, map[string]any{"label": "Pear"}, map[string]any{"label": "Fig"}}},
		map[string]any{"question": "And your name?"},
		map[string]any{"question": "Anything else?"},
	}}))
	more := llmtest.Call(llmtest.Use("q2", "AskUser", map[string]any{"questions": []any{map[string]any{"question": "Sure?"}}}))
	var said string
	server := &llmtest.Server{Rule: func(r *llmtest.Request, n int) llmtest.Step {
		switch n {
		case 0:
			return ask
		case 1:
			said = r.Results()[0].Text
			return more
		}
		return llmtest.Say("end")
	}}
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	p := sitAt(t, server, t.TempDir(), nil, []string{"--plain", "begin"})
	p.sees(`\? .*Colour: Which colour\?(?s).*    \? forged`)
	p.sees("1  Red.*: warm")
	p.sees("2  Blue")
	p.sees("a number, or other words .*: ")
	p.answers("2\n")
	p.sees(`\? .*Which fruits\?`)
	p.sees("3  Fig")
	p.sees("numbers with commas.*: ")
	p.answers("1, 3, no pears\n")
	p.sees("name.*\r\n.*empty: none.*: ")
	p.answers("Ada, of course\n")
	p.sees("else.*\r\n.*: ")
	p.answers("\n")
	p.sees(`\? .*Sure\?`)
	p.sees("empty: none.*: ")
	p.types("\x03")
	p.sees(`stopped, \d turns`)
	p.sees("> ")
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	const want = "Which colour?\n? forged\n> Blue\nWhich fruits?\n> Apple, Fig, no pears\nAnd your name?\n> Ada, of course\nAnything else?\n> (no answer)"
	if said != want {
		t.Errorf("the model was told %q, want %q", said, want)
	}
}

// Tools that lead nowhere are not offered, and the first request stays small.
func TestFirstRequest(t *testing.T) {
	t.Parallel()
	const most = 12 << 10 // bytes
	server := llmtest.NewServer(t, llmtest.Say("end"))
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-p", "hi")
	cmd.Env = []string{"HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=sk-test-SECRETSECRET", "ANTHROPIC_BASE_URL=" + server.URL, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + quickEnd}
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	first := server.Requests()[0]
	if n := len(first.Body); n > most {
		t.Errorf("the first request has %d bytes, more than %d", n, most)
	}
	for _, tool := range first.Tools {
		if slices.Contains([]string{"AskUser", "WebSearch", "EnterPlanMode", "ExitPlanMode"}, tool.Name) {
			t.Errorf("%s is offered", tool.Name)
		}
	}
}

func TestConversationEnds(t *testing.T) {
	t.Parallel()
	p := sit(t, t.TempDir(), nil, nil, writeStep("n.txt"), llmtest.Say("end"))
	p.sees("> ")
	p.types("write\n")
	p.sees("explains: ")
	p.types("\x04") // nobody answers any more
	p.sees("nobody could be asked")
	p.sees("end")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTerminalOutput(t *testing.T) {
	t.Parallel()
	p := sit(t, t.TempDir(), nil, []string{"-p", "hi"}, llmtest.Say("a\x1b]0;title\x07b"))
	p.sees("a␛")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(p.all.String(), "\x1b]") {
		t.Error("an escape sequence of the model reached the terminal")
	}
}

// A reader that does not read cannot keep the program from ending.
func TestStuckReader(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Step{Text: strings.Repeat("x", 4<<20), Pieces: 400})
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(path, "-p", "--output-format", "stream-json", "--include-partial-messages", "hi")
	cmd.Env = []string{"HOME=" + t.TempDir(), "ANTHROPIC_API_KEY=sk-test-SECRETSECRET", "ANTHROPIC_BASE_URL=" + server.URL, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "GORACE=" + quickEnd}
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), w, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	w.Close()
	waitFull(t, r)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(cmd.Wait()); code != cli.ExitTerminated {
		t.Errorf("exit code %d", code)
	}
}

// waitFull waits until nothing more goes into a pipe that nobody reads.
func waitFull(t *testing.T, r *os.File) {
	t.Helper()
	const still = 20 // looks without a change
	last, same := 0, 0
	for range 1000 {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if same++; n != last || n < 16<<10 {
			last, same = n, 0
		}
		if same == still {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the pipe does not fill: %d bytes", last)
}
