//go:build unix

package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openagent-go/agent/internal/outside"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/postgres/internal/pgtest"
)

// A command runs openagent with sessions in a database, as a user does.
type command struct {
	t       *testing.T
	program string
	url     string // of the database
	dir     string // the working folder
	env     []string
}

// newCommand builds openagent, and has a model answer it.
func newCommand(t *testing.T, rule llmtest.Rule) *command {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrNone)
	}
	program := programs.openagent(t)
	model := &llmtest.Server{Rule: rule}
	model.Start(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return &command{t: t, program: program, url: server.Database(t), dir: dir, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"OPENAGENT_HOME=" + filepath.Join(home, "own"), "ANTHROPIC_API_KEY=sk-ant-test", "ANTHROPIC_BASE_URL=" + model.URL, "OPENAGENT_MODEL=claude-sonnet-4-6"}}
}

// programs are built once for all tests.
var programs built

type built struct {
	mu  sync.Mutex
	dir string // of this run of the tests
}

// openagent returns the path of the command.
func (b *built) openagent(t *testing.T) string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	path := filepath.Join(b.dir, "openagent")
	if _, err := os.Stat(path); err != nil {
		outside.Command(t, path)
	}
	return path
}

// start starts a process. It is the first of a process group.
func (c *command) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	c.t.Helper()
	cmd := exec.Command(c.program, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	return cmd, out
}

// run runs a process with the database as --store, and returns what it has written. code is its exit code.
func (c *command) run(code int, args ...string) string {
	c.t.Helper()
	cmd, out := c.start(append(args, "--store", c.url)...)
	err := cmd.Wait()
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code {
		c.t.Fatalf("openagent %v: exit code %d, want %d\n%s", args, got, code, out)
	}
	return out.String()
}

// holds fails the test if a text lacks some parts.
func (c *command) holds(text string, parts ...string) {
	c.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// there waits until a file of the working folder is there.
func (c *command) there(name string) {
	c.t.Helper()
	for range 3000 {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("the file %s does not come", name)
}

// bash is a call of Bash.
func bash(line string) llmtest.Step {
	return llmtest.Call(llmtest.Use("", "Bash", map[string]any{"command": line, "description": "test"}))
}

// until is a call of Bash that tells that it has begun, and waits for a file. It ends with the test.
func until(begun, free string) llmtest.Step {
	return bash("touch " + begun + "; while [ -e " + begun + " -a ! -e " + free + " ]; do sleep 0.05; done; echo ended well")
}

// said answers with the texts of the user's messages.
func said(r *llmtest.Request, _ int) llmtest.Step {
	var all []string
	for _, m := range r.Messages {
		if m.Role == llm.User {
			all = append(all, m.Text())
		}
	}
	return llmtest.Say("I read: " + strings.Join(all, " | "))
}

// results answers with the results of the last calls.
func results(r *llm.Request) llm.Response {
	var all []string
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if result, ok := b.(llm.ToolResult); ok {
				all = append(all, result.Content.Text())
			}
		}
	}
	return llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "Results: " + strings.Join(all, " | ")}}}, Stop: llm.EndTurn}
}

// TestCommand uses openagent with sessions in a database.
func TestCommand(t *testing.T) {
	c := newCommand(t, llmtest.Cast(map[string]llmtest.Rule{
		"alpha": said,
		"kill":  llmtest.Steps(until("killed", "never"), llmtest.Reply(results)),
		"busy":  llmtest.Steps(until("busy", "free"), llmtest.Say("It was free.")),
		"write": llmtest.Steps(bash("echo new > file"), llmtest.Say("Written.")),
		"team": llmtest.Steps(llmtest.Call(llmtest.Use("", "Agent", map[string]any{"prompt": "child task", "description": "work", "subagent_type": "general-purpose"})),
			llmtest.Reply(results)),
		"child task": llmtest.Steps(llmtest.Say("The child is done.")),
		"plan":       said,
		"todo":       llmtest.Steps(llmtest.Call(llmtest.Use("", "TaskCreate", map[string]any{"subject": "Build the house"})), llmtest.Say("Noted.")),
		"done":       llmtest.Steps(llmtest.Call(llmtest.Use("", "TaskList", map[string]any{})), llmtest.Reply(results)),
	}))

	t.Run("resume", func(t *testing.T) {
		c := c.in(t)
		c.run(0, "-p", "alpha one", "--session-id", "first")
		c.holds(c.run(0, "-p", "--resume", "first", "two"), "alpha one", "two")
		c.holds(c.run(0, "-p", "--continue", "three"), "alpha one", "two", "three")
		c.holds(c.run(0, "sessions", "list"), "first", "alpha one")
		c.holds(c.run(0, "sessions", "list", "--all"), c.dir)
		c.holds(c.run(0, "sessions", "show", "first"), "alpha one", "three")
		c.holds(c.run(0, "sessions", "search", "three"), "first")
		c.holds(c.run(0, "sessions", "export", "first"), "alpha one", "three")
		c.holds(c.run(0, "sessions", "cost", "first"), "claude-sonnet-4-6")
		c.run(0, "sessions", "rename", "first", "My title")
		c.holds(c.run(0, "sessions", "list"), "My title")
		c.holds(c.run(0, "-p", "--resume", "first", "--fork-session", "--session-id", "copy", "four"), "three", "four")
		if strings.Contains(c.run(0, "sessions", "show", "first"), "four") {
			t.Error("the prompt of the copy is in the session")
		}
		c.run(0, "sessions", "delete", "copy")
		c.holds(c.run(2, "-p", "--resume", "copy", "five"), "there is no session copy in the database")
		if entries, _ := filepath.Glob(filepath.Join(c.home(), "sessions", "*")); len(entries) > 0 {
			t.Errorf("there are sessions in files: %q", entries)
		}
	})
	t.Run("variable", func(t *testing.T) {
		c := c.in(t)
		c.env = append(c.env, "OPENAGENT_STORE="+c.url)
		cmd, out := c.start("sessions", "list")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		c.holds(out.String(), "first")
	})
	t.Run("kill", func(t *testing.T) {
		c := c.in(t)
		cmd, _ := c.start("-p", "kill", "--session-id", "killed", "--allowed-tools", "Bash", "--store", c.url)
		c.there("killed")
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		c.holds(c.run(2, "-p", "--resume", "killed"), "in use by ", " since ", "10s")
		c.exec(`UPDATE openagent.sessions SET lease = now() - interval '1 s'`) // the time of the lease
		c.holds(c.run(0, "-p", "--resume", "killed", "--allowed-tools", "Bash"), "not known")
	})
	t.Run("busy", func(t *testing.T) {
		c := c.in(t)
		cmd, out := c.start("-p", "busy", "--session-id", "busy", "--allowed-tools", "Bash", "--store", c.url)
		c.there("busy")
		c.holds(c.run(2, "-p", "--resume", "busy", "hello"), fmt.Sprintf(":%d since ", cmd.Process.Pid), "--fork-session")
		for _, args := range [][]string{{"sessions", "rename", "busy", "x"}, {"sessions", "delete", "busy"}} {
			c.holds(c.run(2, args...), fmt.Sprintf("session busy is in use by %s since ", c.worker("busy")))
		}
		c.holds(c.run(0, "sessions", "list", "--state", "running"), "busy")
		if err := os.WriteFile(filepath.Join(c.dir, "free"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "It was free.") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("files", func(t *testing.T) {
		c := c.in(t)
		path := filepath.Join(c.dir, "file")
		if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.run(0, "-p", "write", "--session-id", "files", "--allowed-tools", "Bash")
		c.holds(c.run(0, "sessions", "rewind", "files", "--to", "last"), "sessions rewind files --store")
		if text, err := os.ReadFile(path); string(text) != "old\n" {
			t.Errorf("%v: %q", err, text)
		}
		c.run(0, "sessions", "prune") // the session is there, so its checkpoints stay
		c.holds(c.run(0, "sessions", "rewind", "files"), "FACT")
	})
	t.Run("sub-agents", func(t *testing.T) {
		c := c.in(t)
		c.holds(c.run(0, "-p", "team", "--session-id", "team"), "The child is done.")
		c.holds(c.run(0, "sessions", "export", "team"), "child task")
	})
	t.Run("plan mode", func(t *testing.T) {
		c := c.in(t)
		c.run(0, "-p", "plan", "--session-id", "plan", "--permission-mode", "plan")
		c.holds(c.run(0, "-p", "--resume", "plan", "more", "--output-format", "stream-json", "--verbose"), `"permissionMode":"plan"`)
	})
	t.Run("tasks", func(t *testing.T) {
		c := c.in(t)
		c.run(0, "-p", "todo", "--session-id", "tasks", "--tools", "TaskCreate,TaskList")
		c.env = append(c.env, "OPENAGENT_HOME="+t.TempDir()) // as on another machine
		c.holds(c.run(0, "-p", "--resume", "tasks", "done", "--tools", "TaskCreate,TaskList"), "Build the house")
		c.holds(c.run(2, "sessions", "verify"), "checked by the database")
	})
	t.Run("daily budget", func(t *testing.T) {
		c := c.in(t)
		budget := []string{"--settings", `{"daily_budget_usd":0.02}`}
		c.run(0, append(budget, "-p", "alpha spends", "--session-id", "spends")...)
		c.exec(`UPDATE openagent.quotas SET spent = spent + 1`) // of this day
		c.env = append(c.env, "OPENAGENT_HOME="+t.TempDir())    // as on another machine
		c.holds(c.run(6, append(budget, "-p", "alpha more")...), "budget")
	})
	t.Run("doctor", func(t *testing.T) {
		c := c.in(t)
		c.env = append(c.env, "OPENAGENT_STORE="+c.url)
		cmd, out := c.start("doctor")
		_ = cmd.Wait() // other parts may be missing
		c.holds(out.String(), "sessions are kept in the database")
		c.exec(`INSERT INTO openagent.wakes (session, due) VALUES ('lonely', now() - interval '1 minute')`)
		cmd, out = c.start("doctor")
		_ = cmd.Wait()
		c.holds(out.String(), "1 session without a worker, for up to 1m")
		c.exec(`DELETE FROM openagent.wakes`)
	})
	t.Run("newer", func(t *testing.T) {
		c := c.in(t)
		c.run(0, "sessions", "list")
		c.exec(`INSERT INTO openagent.version VALUES (1000)`)
		c.holds(c.run(2, "sessions", "list"), "--store: ", "have version 1000", "update the program")
	})
}

// in returns the command for a subtest.
func (c *command) in(t *testing.T) *command {
	own := *c
	own.t = t
	return &own
}

// home is the folder of the command's own files.
func (c *command) home() string {
	for _, v := range c.env {
		if dir, ok := strings.CutPrefix(v, "OPENAGENT_HOME="); ok {
			return dir
		}
	}
	return ""
}

// exec changes the database.
func (c *command) exec(statement string) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.url)
	if err == nil {
		_, err = conn.Exec(c.t.Context(), statement)
		_ = conn.Close(c.t.Context())
	}
	if err != nil {
		c.t.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}

// query reads a row of the database.
func (c *command) query(statement string, to ...any) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.url)
	if err == nil {
		err = conn.QueryRow(c.t.Context(), statement).Scan(to...)
		_ = conn.Close(c.t.Context())
	}
	if err != nil {
		c.t.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}
