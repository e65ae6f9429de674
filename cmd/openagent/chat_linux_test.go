package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm/llmtest"
)

// sitAtUI starts the program with its terminal UI.
func sitAtUI(t *testing.T, dir string, args []string, steps ...llmtest.Step) *person {
	t.Helper()
	return sitDown(t, llmtest.NewServer(t, steps...), dir, nil, args)
}

// thinks waits as long as a question must be on the screen before a key answers it, and as a
// person does who reads it.
func (p *person) thinks() { time.Sleep(1700 * time.Millisecond) }

// A conversation in the terminal UI: a prompt, a question, an answer, and the way back to it.
func TestChat(t *testing.T) {
	dir := t.TempDir()
	p := sitAtUI(t, dir, nil, callBash("touch made"), llmtest.Say("It is **made** now."), llmtest.Say("Bye."))
	p.sees(`openagent .* asks before changes`)
	p.sees(`enter send`)
	p.types("make a file\r")
	p.sees(`\? .*Bash`)
	p.sees(`touch made`)
	p.sees(`yes, once`)
	p.sees(`enter`)
	p.thinks()
	p.types("\r")
	p.sees(`made.* now`)
	p.sees(`done · 2 turns · 1 call`)
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	p.types("/cost\r")
	p.sees(`by model`)
	p.types("\x04")
	p.sees(`openagent --resume \S+ continues this conversation`)
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, raw := range []string{"\x1b[J", "\x1b[2J", "\x1b[3J"} {
		if strings.Contains(p.all.String(), raw) {
			t.Errorf("%q damages the history of the terminal", raw)
		}
	}
}

// A key that was pressed before the question could be read does not answer it: it is in the
// input.
func TestTypeAheadAnswersNothing(t *testing.T) {
	dir := t.TempDir()
	p := sitAtUI(t, dir, nil, callBash("touch made"), llmtest.Say("Not made."))
	p.sees(`enter send`)
	p.types("make a file\r")
	p.types("1\r") // at once
	p.sees(`yes, once`)
	p.thinks()
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("a key from before the question has answered it")
	}
	p.types("\x1b") // leaves the question
	p.thinks()
	p.types("\x1b") // stops
	p.sees(`stopped`)
	p.types("\x04\x03\x03\x03")
	p.leaves()
}

// A refusal with a reason reaches the model.
func TestChatRefusal(t *testing.T) {
	p := sitAtUI(t, t.TempDir(), nil, callBash("touch made"), llmtest.Say("As you wish."))
	p.sees(`enter send`)
	p.types("make a file\r")
	p.sees(`no, because`)
	p.thinks()
	p.types("3\r")
	p.sees(`no, because:`)
	p.types("use another name\r")
	p.sees(`denied: refused by the user: use another name`)
	p.sees(`1 call, 1 denied`)
	p.types("\x04")
	p.leaves()
}

// A person begins a new session, and goes back to the first one.
func TestChatSessions(t *testing.T) {
	p := sitAtUI(t, t.TempDir(), nil, llmtest.Say("The first answer."), llmtest.Say("The second answer."))
	p.sees(`enter send`)
	p.types("first prompt\r")
	p.sees(`The first answer`)
	p.sees(`done · 1 turn`)
	p.types("/clear\r")
	p.sees(`asks before changes`)
	p.sees(`enter send`)
	p.types("/sessions\r")
	p.sees(`first prompt`)
	p.types("\r")
	p.sees(`asks before changes`)
	p.sees(`first prompt`)
	p.sees(`The first answer`)
	p.types("and more\r")
	p.sees(`The second answer`)
	p.sees(`done · 1 turn`)
	p.types("\x04")
	p.sees(`openagent --resume`)
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A person goes back to before a prompt, and sees before what that changes. A note goes where they
// choose.
func TestChatRewindsAndNotes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := sitAtUI(t, dir, []string{"--dangerously-skip-permissions"}, llmtest.Say("Hello."), writeStep("one.txt"), llmtest.Say("It is written."))
	p.sees(`enter send`)
	p.types("say hello\r")
	p.sees(`done · 1 turn`)
	p.types("write one\r")
	p.sees(`done · 2 turns`)
	p.types("\x1b")
	p.sees(`press esc again`)
	p.types("\x1b")
	p.sees(`1  say hello`)
	p.sees(`▸ 2  write one`)
	p.sees(`one\.txt −1`)
	p.types("\r")
	p.sees(`-x`)
	p.sees(`files and conversation`)
	p.sees(`what goes back\?`)
	if _, err := os.Stat(filepath.Join(dir, "one.txt")); err != nil {
		t.Error("the file went before the person chose", err)
	}
	p.types("\r")
	p.sees(`taken back to before the prompt: write one`)
	p.sees(`❯ \S*write one`)
	if _, err := os.Stat(filepath.Join(dir, "one.txt")); err == nil {
		t.Error("the file is still there")
	}
	p.types("\x03# be kind\r")
	p.sees(`for everybody in the project`)
	p.sees(`keep the note where\?`)
	p.types("\r")
	p.sees(`added to AGENTS\.md`)
	if got, err := os.ReadFile(filepath.Join(dir, "AGENTS.md")); err != nil || string(got) != "- be kind\n" {
		t.Errorf("%q %v", got, err)
	}
	p.types("\x04")
	p.leaves()
}

// Without a session there is nothing to choose.
func TestResumeWithoutSessions(t *testing.T) {
	t.Parallel()
	p := sitAtUI(t, t.TempDir(), []string{"--resume"})
	p.sees(`there is no session of this folder yet; leave the flag out to begin one`)
	if code := p.leaves(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

// In lines, a person chooses a session by its number.
func TestResumeInLines(t *testing.T) {
	t.Parallel()
	dir, env := t.TempDir(), []string{"OPENAGENT_HOME=" + t.TempDir()}
	server := llmtest.NewServer(t, llmtest.Say("The answer."))
	p := sitAt(t, server, dir, env, nil)
	p.sees("> ")
	p.types("a prompt in lines\n")
	p.sees(`The answer`)
	p.sees("> ")
	p.types("/quit\n")
	p.leaves()
	p = sitAt(t, server, dir, env, []string{"-r"})
	p.sees(`  1  a prompt in lines  \(just now\)`)
	p.sees(`empty: leave\): `)
	p.types("7\n")
	p.sees(`7 is not a number from 1 to 1`)
	p.sees(`empty: leave\): `)
	p.types("1\n")
	p.sees(`The answer`)
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The terminal UI asks about the files of a project once: another session does not ask again after
// a no, unless the files have changed.
func TestChatRemembersDistrust(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, ".openagent")
	tool := filepath.Join(folder, "tools", "hello")
	if err := errors.Join(os.MkdirAll(filepath.Dir(tool), 0o755), os.WriteFile(tool, []byte(terminalTool), 0o755),
		os.WriteFile(filepath.Join(folder, "settings.json"), []byte(`{"model":"claude-opus-4-6"}`), 0o644)); err != nil {
		t.Fatal(err)
	}
	p := sitAtUI(t, dir, nil)
	p.sees(`need your trust(?s).*\[y/N\] `)
	p.types("n\n")
	p.sees(`holds tools(?s).*\[y/N\] `)
	p.types("n\n")
	p.sees(`asks before changes`)
	p.sees(`enter send`)
	p.types("/clear\r")
	p.sees(`asks before changes`)
	p.sees(`enter send`)
	if err := os.WriteFile(tool, []byte(terminalTool+"# changed\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.types("/clear\r")
	p.sees(`holds tools(?s).*\[y/N\] `)
	p.types("n\n")
	p.sees(`enter send`)
	p.types("\x04")
	p.leaves()
	if n := strings.Count(p.all.String(), "Do you trust them"); n != 3 {
		t.Errorf("it asked %d times", n)
	}
}

// A change of the mode is told once: by the command, and not again by its event.
func TestChatTellsModeOnce(t *testing.T) {
	t.Parallel()
	p := sitAtUI(t, t.TempDir(), nil, llmtest.Say("One."), llmtest.Say("Two."))
	p.sees(`enter send`)
	p.types("first\r")
	p.sees(`done · 1 turn`)
	p.types("/mode acceptEdits\r")
	p.sees(`mode acceptEdits\S*\s`)
	p.sees(`accepts edits`)
	p.types("second\r")
	p.sees(`done · 1 turn`)
	p.types("\x04")
	p.leaves()
	if strings.Contains(p.all.String(), "mode: acceptEdits") {
		t.Error("the event tells of the mode again")
	}
}

// The picker of models marks the one in use, and shows windows as the status line does.
func TestChatModels(t *testing.T) {
	t.Parallel()
	p := sitAtUI(t, t.TempDir(), nil)
	p.sees(`enter send`)
	p.types("/model\r")
	p.sees(`▸ claude-sonnet-4-6 \(in use\)`)
	p.sees(`ctx 1.0M`)
	p.types("\x1b")
	p.sees(`enter send`)
	p.types("\x04")
	p.leaves()
}

// A session that continues shows what a sub-agent has said, as it did live.
func TestChatShowsPastAgents(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), []string{"HOME=" + t.TempDir()}
	server := llmtest.NewServer(t, llmtest.Call(llmtest.Use("a1", "Agent", map[string]any{"prompt": "look", "description": "look"})),
		llmtest.Say("Seen."), llmtest.Say("All done."))
	p := sitDown(t, server, dir, home, nil)
	p.sees(`enter send`)
	p.types("look\r")
	p.sees(`All done`)
	p.sees(`done · 2 turns`)
	p.types("\x04")
	p.leaves()
	p = sitDown(t, server, dir, home, []string{"--continue"})
	p.sees(`general-purpose.*“Seen\.”`)
	p.types("\x04")
	p.leaves()
}

func callBash(line string) llmtest.Step {
	return llmtest.Call(llmtest.Use("b1", "Bash", map[string]string{"command": line}))
}

// A command of the person's own runs under the same rules: what no rule allows is asked. The
// model sees what it has said with the next prompt.
func TestUIShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := llmtest.NewServer(t, llmtest.Say("I see."))
	p := sitDown(t, server, dir, nil, nil)
	p.sees(`enter send`)
	p.types("!echo from the $((20+1))st shell\r")
	p.sees(`from the 21st shell`)
	p.types("!touch made\r")
	p.sees(`\? .*Bash`)
	p.sees(`yes, once`)
	p.thinks()
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the command has run before the answer")
	}
	p.types("\r")
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command does not run")
		}
	}
	p.types("well?\r")
	p.sees(`I see`)
	if r := server.Requests()[0]; !strings.Contains(string(r.Body), "from the 21st shell") {
		t.Errorf("the model does not see the output: %s", r.Body)
	}
	p.sees(`done`)
	p.types("!touch begun; sleep 100\r") // leaving ends it
	p.sees(`yes, once`)
	p.thinks()
	p.types("\r")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
			break
		}
	}
	p.types("\x04")
	p.sees(`continues this conversation`)
	p.leaves()
}

// Commands work while a skill runs.
func TestChatCommandsDuringASkill(t *testing.T) {
	p := sitDown(t, llmtest.NewServer(t, callBash("sleep 20"), llmtest.Say("end")), t.TempDir(), nil, []string{"--permission-mode", "bypassPermissions"})
	p.sees(`enter send`)
	p.types("/debug it\r")
	p.sees(`sleep 20`)
	p.types("/status\r")
	p.sees(`session `)
	p.types("/context\r")
	p.sees(`tokens`)
	p.types("\x1b")
	p.sees(`stopped`)
	p.types("\x04")
	p.leaves()
}

// A suggested prompt is shown dim, taken with tab, and sent only by the person. One that does not come
// holds up nobody who leaves.
func TestChatSuggestion(t *testing.T) {
	p := sitAtUI(t, t.TempDir(), []string{"--prompt-suggestions"}, llmtest.Say("Fixed."), llmtest.Say("Run the tests"), llmtest.Say("They pass."), llmtest.Step{Delay: time.Hour})
	p.sees(`enter send`)
	p.types("fix it\r")
	p.sees(`Fixed\.`)
	p.sees(`Run the tests  \(tab\)`)
	p.types("\t")
	p.types(" of the parser\r")
	p.sees(`Run the tests of the parser`)
	p.sees(`They pass`)
	p.sees(`done · `)
	p.types("\x04")
	p.sees(`openagent --resume \S+ continues this conversation`)
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
