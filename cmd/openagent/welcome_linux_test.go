package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm/llmtest"
)

// keylessEnv is that of a stranger. A server on a loopback address would need no key.
var keylessEnv = []string{"ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=", "DBUS_SESSION_BUS_ADDRESS=", "NO_COLOR=1"}

// A person without a key chooses what to do, and the conversation goes on from there.
func TestWelcome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := append([]string{"OPENAGENT_HOME=" + home}, keylessEnv...)
	p := sit(t, t.TempDir(), env, nil)
	p.sees(`openagent needs a model\. There is no API key for anthropic\. Found `)
	p.sees(`1  Try it now[^\r]*\r\n  2  Enter an API key[^\r]*\r\n  3  Use a model[^\r]*\r\n(?:[^\r]*\r\n)?  4  Get the key from a command`)
	p.sees(`leave\): `)
	p.types("9\n")
	p.sees("9 is not a number from 1 to 5")
	p.sees(`leave\): `)
	p.types("4\n")
	p.sees(`back\): `)
	p.types("exit 3\n")
	p.sees("the key command: ")
	p.sees(`leave\): `)
	p.types("2\n")
	p.sees(`1  Anthropic +or set ANTHROPIC_API_KEY`)
	p.sees(`a number \(empty: 1, Anthropic\): `)
	p.types("\n")
	p.sees(`API key of Anthropic`)
	p.types("sk-test-KEYKEYKEY\n")
	p.sees(`Stored the key of anthropic in .*keys\.json, which only you can read`)
	p.sees("/help lists commands")
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(p.all.String(), "KEYKEYKEY") {
		t.Error("the terminal shows the key")
	}

	p = sit(t, t.TempDir(), env, nil)
	p.sees("/help lists commands")
	p.types("/quit\n")
	p.leaves()
	if strings.Contains(p.all.String(), "needs a model") {
		t.Error("the second start asks again")
	}
}

// Who chooses nothing gets the error and the exit code of a script.
func TestWelcomeLeft(t *testing.T) {
	t.Parallel()
	p := sit(t, t.TempDir(), keylessEnv, []string{"--plain", "say hello"})
	p.sees(`leave\): `)
	p.types("1\n")
	p.sees(`Allow this\? \[y/n\] `)
	time.Sleep(time.Second) // the time that a person takes to read
	p.types("y\n")
	p.sees(`simulated`)
	p.sees(`openagent needs a model`)
	p.sees(`leave\): `)
	p.types("5\n")
	p.sees(`(?s)no API key for the provider anthropic.*looked at: .*try: `)
	if code := p.leaves(); code != cli.ExitKey {
		t.Errorf("exit code %d", code)
	}

	home := t.TempDir()
	p = sit(t, t.TempDir(), append([]string{"OPENAGENT_HOME=" + home}, keylessEnv...), nil)
	p.sees(`leave\): `)
	p.types("4\n")
	p.sees(`back\): `)
	p.types("echo sk-test-2\n")
	p.sees("The command printed a key")
	p.sees("/help lists commands")
	p.types("/quit\n")
	p.leaves()

	p = sit(t, t.TempDir(), keylessEnv, []string{"-p", "say hello"})
	p.sees("no API key for the provider anthropic")
	if code := p.leaves(); code != cli.ExitKey || strings.Contains(p.all.String(), "needs a model") {
		t.Errorf("with -p: exit code %d, %s", code, p.all.String())
	}
}

// The screen of the terminal UI: a person sees the demo, goes back from a question, enters a key
// that nobody sees, and is in the conversation.
func TestWelcomeScreen(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	env := append([]string{"OPENAGENT_HOME=" + home}, keylessEnv...)
	p := sitDown(t, llmtest.NewServer(t), t.TempDir(), env, []string{"--log-level", "debug", "--trace", log})
	p.sees(`openagent needs a model\. There is no API key for anthropic`)
	p.sees(`esc leave`)
	p.types("1\r")
	p.sees(`Allow this\? \[y/n\] `)
	time.Sleep(time.Second) // the time that a person takes to read
	p.types("y\n")
	p.sees(`end of the simulated run`)
	p.sees(`openagent needs a model`)
	p.sees(`esc leave`)
	p.types("4\r")
	p.sees(`command that prints the key:`)
	p.types("exit 3\r")
	p.sees(`the key command: `)
	p.types("\x1b")
	p.sees(`openagent needs a model`)
	p.sees(`esc leave`)
	p.types("\x1b[B\r") // down
	p.sees(`whose key\?`)
	p.sees(`esc back`)
	p.types("\x1b[200~sk-test-KEYKEYKEY\x1b[201~")
	p.sees(`nothing was pasted`)
	p.types("anthropic\r")
	p.sees(`API key of Anthropic:`)
	p.types("\x1b[200~sk-test-KEYKEY\x1b[201~")
	p.sees(`••••••••`)
	p.types("KEY\r")
	p.sees(`(?s)Stored the key of anthropic in.*keys\.json, which\s+only\s+you\s+can\s+read`)
	p.sees(`asks before changes`)
	p.sees(`enter send`)
	p.types("\x04")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(p.all.String(), "KEYKEY") || strings.Contains(p.all.String(), "sk-test") {
		t.Error("the terminal shows the key")
	}
	kept := 0
	for _, dir := range []string{home, filepath.Dir(log)} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), "KEYKEYKEY") {
				kept++
				if info, _ := e.Info(); info.Mode().Perm() != 0o600 || filepath.Base(path) != "keys.json" {
					t.Errorf("%s has the key, with mode %v", path, info.Mode())
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if kept != 1 {
		t.Errorf("%d files have the key", kept)
	}
}

// Who leaves the screen gets the error and the exit code of a script. A key command leads into the
// conversation.
func TestWelcomeScreenLeft(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"5\r", "\x1b", "\x03"} {
		p := sitDown(t, llmtest.NewServer(t), t.TempDir(), keylessEnv, nil)
		p.sees(`openagent needs a model`)
		p.sees(`esc leave`)
		p.types(keys)
		p.sees(`(?s)no API key for the provider anthropic.*try: `)
		if code := p.leaves(); code != cli.ExitKey {
			t.Errorf("%q: exit code %d", keys, code)
		}
	}
	p := sitDown(t, llmtest.NewServer(t), t.TempDir(), append([]string{"OPENAGENT_HOME=" + t.TempDir()}, keylessEnv...), nil)
	p.sees(`esc leave`)
	p.types("4\r")
	p.sees(`command that prints the key:`)
	p.types("echo sk-test-2\r")
	p.sees("The command printed a key")
	p.sees(`enter send`)
	p.types("\x04")
	if code := p.leaves(); code != 0 || strings.Contains(strings.ReplaceAll(p.all.String(), "echo sk-test-2", ""), "sk-test-2") {
		t.Errorf("exit code %d, %q", code, p.all.String())
	}
}

// A model server of this machine is found on its port.
func TestWelcomeServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:11434")
	if err != nil {
		t.Skipf("the port of Ollama is taken: %v", err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, data := range []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":"I am local."}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]"} {
				fmt.Fprintf(w, "data: %s\n\n", data)
			}
			return
		}
		w.Write([]byte(`{"object":"list","data":[{"id":"qwen3:8b"},{"id":"llama3.3:70b"}]}`))
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	home := t.TempDir()
	p := sit(t, t.TempDir(), append([]string{"OPENAGENT_HOME=" + home}, keylessEnv...), nil)
	p.sees(`Found Ollama with 2 models`)
	p.sees(`leave\): `)
	p.types("3\n")
	p.sees(`1  qwen3:8b  \(Ollama\)\r\n   2  llama3.3:70b`)
	p.sees(`empty: 1\): `)
	p.types("2\n")
	p.sees(`has Ollama with llama3.3:70b`)
	p.sees("llama3.3:70b, .*/help lists commands")
	p.types("/quit\n")
	p.leaves()
	p = sitDown(t, llmtest.NewServer(t), t.TempDir(), append([]string{"OPENAGENT_HOME=" + t.TempDir()}, keylessEnv...), nil)
	p.sees(`found Ollama with 2 models`)
	p.sees(`esc leave`)
	p.types("3\r")
	p.sees(`which model\?`)
	p.sees(`qwen3:8b`)
	p.types("llama\r")
	p.sees(`has\s+Ollama\s+with\s+llama3.3:70b`)
	p.sees(`llama3.3:70b .*asks before changes`)
	p.sees(`enter send`)
	p.types("who are you?\r")
	p.sees(`I am local`)
	p.sees(`done · 1 turn`)
	p.types("\x04")
	p.leaves()
	var kept map[string]any
	data, err := os.ReadFile(filepath.Join(home, "settings.json"))
	if err != nil || json.Unmarshal(data, &kept) != nil || kept["provider"] != "ollama" || kept["model"] != "llama3.3:70b" || kept["base_url"] != nil {
		t.Errorf("%s %v", data, err)
	}
}
