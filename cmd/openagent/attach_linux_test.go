package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A person attaches to the session that runs: they answer its question, prompt and see who answered
// another question. When the server is killed, the terminal continues with the next server, and
// shows nothing twice.
func TestAttach(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, writeStep("a.txt"), llmtest.Say("The first answer."), writeStep("b.txt"), llmtest.Say("The second answer."), llmtest.Say("The third answer."))
	f := newFolderOfTriggers(t, t.TempDir(), server)
	flags := []string{"--permission-mode", "default"}
	s := f.serveSessions(flags...)
	s.asks("POST", "/v1/sessions", `{"session":"chat","id":"m1","text":"write a"}`, 201)
	p := sitDown(t, server, f.dir, f.env, []string{"attach"})
	p.sees(`openagent .* asks before changes`)
	p.sees(`write a`)
	p.sees(`\? .*Write`)
	p.sees(`yes, once`)
	p.thinks()
	p.types("\r")
	p.sees(`The first answer\.`)
	p.sees(`done · `)

	p.types("write b\r")
	p.sees(`\? .*Write`)
	p.sees(`yes, once`)
	s.decide()
	p.sees(`is settled: allow by api`)
	p.sees(`The second answer\.`)
	p.sees(`done · `)
	p.types("!ls\r")
	p.sees(`would run on this machine`)
	p.types("/budget\r")
	p.sees(`does not work on a session of a server`)

	p.types("/rewind\r")
	p.sees(`go back to before`)
	p.types("write b")
	p.sees(`write b`)
	p.types("\r")
	p.sees(`what goes back`)
	p.types("only the conv")
	p.sees(`only the conv`)
	p.types("\r")
	p.sees(`continues from before`)
	p.types("\x03") // the prompt that came back

	address := strings.TrimPrefix(s.start.Address, "http://")
	s.end(syscall.SIGKILL)
	p.sees(`connection lost`)
	s = f.serveSessions(append(flags, "--listen", address)...)
	p.sees(`connected again`)
	p.types("third\r")
	p.sees(`The third answer\.`)
	p.sees(`done · `)
	p.types("\x04")
	p.sees(`openagent attach chat shows this session again`)
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, once := range []string{"The first answer.", "The second answer."} {
		if after := p.all.String(); strings.Count(after[strings.LastIndex(after, "connected again"):], once) != 0 {
			t.Errorf("%q was shown again", once)
		}
	}
	s.end(syscall.SIGTERM)
	if out := f.run(cli.ExitUsage, "", "attach"); !strings.Contains(out, "needs a terminal") {
		t.Error(out)
	}
}

// What cannot be attached to is said in one line, with a remedy.
func TestAttachErrors(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Say("hello"))
	f := newFolderOfTriggers(t, t.TempDir(), server)
	says := func(pattern string, args ...string) {
		t.Helper()
		p := sitDown(t, server, f.dir, f.env, append([]string{"attach"}, args...))
		p.sees(pattern)
		if code := p.leaves(); code == 0 {
			t.Errorf("%v: exit code 0", args)
		}
	}
	says(`no server runs on this machine; start one with: openagent serve`)
	says(`http to another machine would show your token`, "http://agents.example.com")
	says(`not the address of a server`, "ftp://agents.example.com")
	s := f.serveSessions()
	says(`has no sessions`)
	s.asks("POST", "/v1/sessions", `{"session":"chat-of-today","text":"hi"}`, 201)
	says(`has no session nothing-here`, "nothing-here")
	if err := os.WriteFile(f.dir+"/token", []byte(strings.Repeat("0", 64)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(`refuses the token`, s.start.Address, "--token-file", "token")
	if err := os.Chmod(f.dir+"/token", 0o644); err != nil {
		t.Fatal(err)
	}
	says(`others can read the token`, s.start.Address, "--token-file", "token")
	says(`not one of openagent serve`, server.URL, "--token-file", s.start.TokenFile)
	p := sitDown(t, server, f.dir, f.env, []string{"attach", s.start.Address + "/s/chat-of-today"})
	p.sees(`hello`)
	p.types("/detach\r")
	p.sees(`shows this session again`)
	p.leaves()
	s.end(syscall.SIGTERM)
	says(`no server runs`)
}
