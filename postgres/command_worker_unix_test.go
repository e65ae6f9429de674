//go:build unix

package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/postgres"
)

// A process of the command, which tells in a line of JSON that it has started.
type process struct {
	cmd     *exec.Cmd
	out     *bufio.Reader
	Name    string
	Health  string
	Address string // of a server
}

// begin starts a process and waits until it works.
func (c *command) begin(args ...string) *process {
	c.t.Helper()
	cmd := exec.Command(c.program, append(args, "--store", c.url, "--output-format", "json")...)
	cmd.Dir, cmd.Env, cmd.Stderr = c.dir, c.env, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed, or has ended
	})
	p := &process{cmd: cmd, out: bufio.NewReader(out)}
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, p)
	}
	if err != nil {
		c.t.Fatalf("openagent %v: %v: %s", args, err, line)
	}
	return p
}

// kill kills the process that has a session, and ends the lease of all.
func (c *command) kill(session string, all ...*process) (left *process) {
	c.t.Helper()
	name := c.worker(session)
	for _, p := range all {
		if p.Name != name {
			left = p
			continue
		}
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	c.exec(`UPDATE openagent.sessions SET lease = now() - interval '1 s'`)
	c.exec(`UPDATE openagent.wakes SET due = now()`)
	return left
}

// kill kills a process.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// isOpen reports whether a session has a lease.
func (c *command) isOpen(session string) (open bool) {
	c.t.Helper()
	c.query(`SELECT lease IS NOT NULL FROM openagent.sessions WHERE space = '' AND id = '`+session+`'`, &open)
	return open
}

// worker returns the name of the process that has a session.
func (c *command) worker(session string) (name string) {
	c.t.Helper()
	c.query(`SELECT worker FROM openagent.sessions WHERE space = '' AND id = '`+session+`'`, &name)
	return name
}

// free lets a command of the model end that waits for a file.
func (c *command) free(name string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// TestWorkers kills workers, and lets others go on.
func TestWorkers(t *testing.T) {
	write := func(name string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Write", map[string]any{"file_path": name, "content": "text"}))
	}
	c := newCommand(t, llmtest.Cast(map[string]llmtest.Rule{
		"keep":  said,
		"kill":  llmtest.Steps(until("killed", "never"), llmtest.Reply(results)),
		"drain": llmtest.Steps(until("drained", "drain"), llmtest.Reply(results)),
		"serve": llmtest.Steps(until("served", "never"), llmtest.Reply(results)),
		"ask":   llmtest.Steps(write("written"), llmtest.Say("It is written.")),
		"shell": llmtest.Steps(write("by shell"), llmtest.Say("It is written too.")),
	}))
	db := connect(t, c.url, postgres.Options{})
	client := &durable.Client{Backend: db, Engine: db.Engine()}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	send := func(session, text string) string {
		t.Helper()
		id, err := client.Send(ctx, session, "", durable.Prompt{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	wait := func(session, prompt string, parts ...string) {
		t.Helper()
		end, err := client.Wait(ctx, session, prompt)
		if err != nil || end.Reason != event.Completed {
			t.Fatalf("%v: %+v", err, end)
		}
		c.holds(end.Text, parts...)
	}
	begin := func(args ...string) *process {
		t.Helper()
		return c.begin(append([]string{"worker", "--allowed-tools", "Bash", "--keep", "100ms"}, args...)...)
	}

	one, two := begin("--name", "one"), begin("--name", "two", "--health", "127.0.0.1:0")
	id := send("k", "kill")
	c.there("killed")
	left := c.kill("k", one, two)
	wait("k", id, "not known")

	id = send("d", "drain")
	c.there("drained")
	three := begin("--name", "three", "--health", "127.0.0.1:0", "--linger", "1ms")
	c.holds(get(t, three.Health, "/healthz"), "ok")
	if err := left.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.free("drain")
	wait("d", id, "ended well")
	var exit *exec.ExitError
	if err := left.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGTERM) {
		t.Errorf("the worker that was stopped: %v", err)
	}

	keeper := begin("--name", "keeper", "--keep", "1h")
	three.kill()
	id = send("kept", "keep me")
	wait("kept", id, "I read: keep me")
	for c.worker("kept") != "keeper" || c.isOpen("kept") { // it notes the end of the run first
		if ctx.Err() != nil {
			t.Fatal("the worker does not lend the session")
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.run(0, "sessions", "rename", "kept", "My title")
	c.holds(c.run(0, "-p", "--resume", "kept", "more"), "keep me | more")
	wait("kept", send("kept", "and more"), "keep me | more | and more")
	three = begin("--name", "three again", "--health", "127.0.0.1:0", "--linger", "1ms")
	keeper.kill()

	front := c.begin("serve", "--workers", "--listen", "127.0.0.1:0")
	ask := func(method, path, body string) map[string]any {
		t.Helper()
		return c.ask(front, method, path, body)
	}
	four := begin("--name", "four")
	ask("POST", "/v1/sessions", `{"session":"s","id":"p1","text":"serve"}`)
	c.there("served")
	if name := ask("GET", "/v1/sessions/s", "")["worker"]; name != c.worker("s") {
		t.Errorf("the server says that %v works", name)
	}
	left = c.kill("s", three, four)
	for {
		info := ask("GET", "/v1/sessions/s", "")
		if info["state"] == "idle" {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the session does not end: %v", info)
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.holds(c.run(0, "sessions", "show", "s"), "not known")
	_ = left.cmd.Process.Signal(syscall.SIGTERM)
	_ = left.cmd.Wait()
	three = begin("--name", "five", "--health", "127.0.0.1:0", "--linger", "1ms")

	id = send("a", "ask")
	for {
		questions, err := client.Questions(ctx, "a")
		if err == nil && len(questions) > 0 && c.worker("a") == "" { // nobody has it open
			ask("POST", "/v1/sessions/a/calls/"+questions[0].Call+"/decision", `{"behavior":"allow"}`)
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("no question waits: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	wait("a", id, "It is written.")
	c.there("written")
	id = send("b", "shell")
	for !strings.Contains(c.run(0, "sessions", "list", "--state", "waiting"), "b ") || c.worker("b") != "" {
		if ctx.Err() != nil {
			t.Fatal("no question waits")
		}
	}
	c.holds(c.run(0, "sessions", "answer", "b", "--allow"), "a worker continues the run")
	wait("b", id, "It is written too.")
	c.holds(get(t, three.Health, "/metrics"), "openagent_worker_slots 64\n", "openagent_worker_database_up 1\n", "openagent_worker_draining 0\n")
	c.holds(c.run(0, "sessions", "list"), "kill", "drain", "ask")
}

// ask makes a request to a server, with the token of its user.
func (c *command) ask(server *process, method, path, body string) map[string]any {
	c.t.Helper()
	token, err := os.ReadFile(filepath.Join(c.home(), "serve", "token"))
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, server.Address+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	var into map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&into); err != nil || answer.StatusCode/100 != 2 {
		c.t.Fatalf("%s %s: %d %v %v", method, path, answer.StatusCode, into, err)
	}
	return into
}

// get asks a process for a page.
func get(t *testing.T, address, path string) string {
	t.Helper()
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var text strings.Builder
	if _, err := io.Copy(&text, answer.Body); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
