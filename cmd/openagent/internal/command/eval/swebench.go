package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/text"
)

// importOptions are the flags of eval import.
type importOptions struct {
	out, command, repositories string
	setup                      []string
}

const defaultTests = "python -m pytest -q {}"

// importCommand returns the command "openagent eval import".
func importCommand(h *cli.IO) cli.Command {
	o := &importOptions{command: defaultTests}
	formats := []string{"swe-bench"}
	return cli.Command{Name: "import", Args: "swe-bench FILE|FOLDER", MinArgs: 2, MaxArgs: 2, Choices: formats, Summary: "Make a suite of tasks in another format",
		Details: `swe-bench: tasks in JSON Lines or JSON with the members instance_id, repo, base_commit,
problem_statement, test_patch, FAIL_TO_PASS and PASS_TO_PASS.
A folder is read with all its files *.jsonl and *.json.
Each task becomes a case: a clone of the repository, and a grader for each list of tests.
The suite is written to --out; review it before you run it.
`,
		Examples: []string{"openagent eval import swe-bench tasks.jsonl --out swe", "openagent eval import swe-bench tasks --out swe --repos ~/mirrors --test-command 'go test -run {} ./...'"},
		Flags: func() cli.Flags {
			return cli.Flags{
				{Name: "out", Arg: "DIR", Path: true, Help: "new folder for the suite (needed)", Set: cli.Text(&o.out)},
				{Name: "test-command", Arg: "LINE", Help: "command that runs tests; {} stands for their names. With {} alone each test is a command of its own (default " + defaultTests + ")", Set: cli.Text(&o.command)},
				{Name: "setup", Arg: "LINE", Help: "command that runs in each clone first; may be repeated", Set: cli.Append(&o.setup)},
				{Name: "repos", Arg: "DIR", Path: true, Help: "folder of local clones OWNER/NAME, OWNER__NAME or NAME, with or without .git, to use in place of github.com", Set: cli.Text(&o.repositories)},
			}
		},
		Run: func(_ context.Context, args []string) error { return importTasks(h, o, args[0], args[1]) }}
}

// A task is one of SWE-bench. The lists are lists, or texts that hold lists as JSON.
type task struct {
	ID         string `json:"instance_id"`
	Repository string `json:"repo"`
	Commit     string `json:"base_commit"`
	Problem    string `json:"problem_statement"`
	Tests      string `json:"test_patch"`
	Failing    names  `json:"FAIL_TO_PASS"`
	Passing    names  `json:"PASS_TO_PASS"`
}

type names []string

// UnmarshalJSON reads a list, or a text that holds one.
func (n *names) UnmarshalJSON(data []byte) error {
	var inner string
	if json.Unmarshal(data, &inner) == nil {
		if inner == "" {
			return nil
		}
		data = []byte(inner)
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("it must be a list of tests")
	}
	*n = list
	return nil
}

const (
	maxTasks = 1 << 30 // bytes of a file of tasks
	maxLine  = 64 << 20
)

// importTasks writes a suite of tasks.
func importTasks(h *cli.IO, o *importOptions, format, from string) error {
	switch {
	case format != "swe-bench":
		return cli.Usagef("eval import: there is no format %q; the format is swe-bench", cli.Clip(format))
	case o.out == "":
		return cli.Usagef("eval import: add --out DIR, a new folder for the suite")
	case !safefile.Missing(o.out):
		return cli.Usagef("--out %s: it is there already; choose a new folder", o.out)
	}
	tasks, err := readTasks(from)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if err := o.writeSuite(tasks); err != nil {
		return cli.Usagef("%w", errors.Join(err, os.RemoveAll(o.out)))
	}
	return h.Show(fmt.Sprintf("%s in %s; review the suite, then run openagent eval %s\n", cli.Plural(len(tasks), "case"), o.out, text.QuoteShell(o.out)))
}

// writeSuite writes the folder of the suite.
func (o *importOptions) writeSuite(tasks []task) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	about := "# Made from tasks of SWE-bench. The commands of setups and graders run in the sandbox, without network:\n" +
		"# sandbox: {hosts: [pypi.org, files.pythonhosted.org]} lets them install packages.\n" +
		"name: " + text.QuoteJSON(filepath.Base(o.out)) + "\ndefaults:\n  mode: acceptEdits\n  timeout: 30m\n"
	if len(o.setup) > 0 {
		about += "  setup:\n" + listOf(o.setup, "    ")
	}
	if err := os.WriteFile(filepath.Join(o.out, "suite.yaml"), []byte(about), 0o644); err != nil {
		return err
	}
	for _, t := range tasks {
		if err := o.write(t); err != nil {
			return fmt.Errorf("writing the case %s: %w", t.ID, err)
		}
	}
	return nil
}

// readTasks reads a file, or all files of a folder.
func readTasks(from string) (tasks []task, err error) {
	files := []string{from}
	if info, err := os.Stat(from); err != nil {
		return nil, err
	} else if info.IsDir() {
		files = nil
		entries, err := os.ReadDir(from)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); ext == ".jsonl" || ext == ".json" {
				files = append(files, filepath.Join(from, e.Name()))
			}
		}
	}
	seen := map[string]bool{}
	for _, file := range files {
		list, err := readFile(file)
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if seen[t.ID] {
				return nil, fmt.Errorf("%s: two tasks have the instance_id %q", file, t.ID)
			}
			seen[t.ID] = true
		}
		tasks = append(tasks, list...)
	}
	if len(tasks) == 0 {
		return nil, fmt.Errorf("%s: there are no tasks", from)
	}
	return tasks, nil
}

// readFile reads tasks: a list of them, or one on each line.
func readFile(file string) (tasks []task, err error) {
	data, err := plainfile.ReadFile(file, maxTasks)
	if err != nil {
		return nil, err
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := json.Unmarshal(trimmed, &tasks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, text.JSONMismatch(err, "the list"))
		}
		for i, t := range tasks {
			if err := t.check(); err != nil {
				return nil, fmt.Errorf("%s: task %d: %w", file, i+1, err)
			}
		}
		return tasks, nil
	}
	if one := (task{}); json.Unmarshal(data, &one) == nil { // a file with one task, on several lines
		if err := one.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return []task{one}, nil
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var t task
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, text.JSONMismatch(err, "the task"))
		}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		tasks = append(tasks, t)
	}
	return tasks, lines.Err()
}

// check refuses a task that cannot be a case. Its values come from someone else.
func (t *task) check() error {
	switch {
	case t.ID == "" || !filepath.IsLocal(t.ID) || strings.ContainsAny(t.ID, `/\`) || strings.HasPrefix(t.ID, ".") || strings.HasPrefix(t.ID, "-"):
		return fmt.Errorf("instance_id %q cannot be the name of a folder", cli.Clip(t.ID))
	case t.Repository == "" || t.Commit == "" || strings.TrimSpace(t.Problem) == "":
		return errors.New("repo, base_commit and problem_statement are needed")
	case strings.HasPrefix(t.Repository, "-") || strings.HasPrefix(t.Commit, "-"):
		return errors.New("repo and base_commit must not begin with -")
	case len(t.Failing) == 0:
		return errors.New("FAIL_TO_PASS has no tests")
	}
	return nil
}

// write writes the folder of a case.
func (o *importOptions) write(t task) error {
	dir := filepath.Join(o.out, t.ID)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	repository, err := o.repository(t.Repository)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tags: [%s]\nrepository: %s\ncommit: %s\n", text.QuoteJSON(t.Repository), text.QuoteJSON(repository), text.QuoteJSON(t.Commit))
	fmt.Fprintf(&b, "prompt: %s\ngraders:\n", text.QuoteJSON(t.Problem))
	for _, g := range []struct {
		name  string
		tests []string
	}{{"FAIL_TO_PASS", t.Failing}, {"PASS_TO_PASS", t.Passing}} {
		if len(g.tests) > 0 {
			line := `sh "$EVAL_CASE_DIR/tests.sh" && { ` + o.tests(g.tests) + "\n}"
			fmt.Fprintf(&b, "  - name: %s\n    timeout: 30m\n    command: %s\n", g.name, text.QuoteJSON(line))
		}
	}
	for name, content := range map[string]string{"case.yaml": b.String(), "tests.patch": t.Tests, "tests.sh": script(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// repository returns a path or an address for git clone.
func (o *importOptions) repository(name string) (string, error) {
	if strings.Contains(name, "://") || filepath.IsAbs(name) {
		return name, nil
	}
	if o.repositories == "" {
		return "https://github.com/" + name + ".git", nil
	}
	base := name[strings.LastIndex(name, "/")+1:]
	for _, local := range []string{name, strings.ReplaceAll(name, "/", "__"), base} {
		for _, suffix := range []string{"", ".git"} { // as git names bare clones
			path, err := filepath.Abs(filepath.Join(o.repositories, filepath.FromSlash(local)+suffix))
			if err != nil {
				return "", err
			}
			if _, err := os.Stat(path); err == nil {
				return path, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
	}
	return "", fmt.Errorf("--repos %s has no clone %s, %s or %s", o.repositories, name, strings.ReplaceAll(name, "/", "__"), base)
}

// tests returns the command line that runs tests.
func (o *importOptions) tests(list []string) string {
	line := cmp.Or(o.command, defaultTests)
	if line == "{}" {
		return strings.Join(list, " && ")
	}
	words := make([]string, len(list))
	for i, t := range list {
		words[i] = text.QuoteShell(t)
	}
	if !strings.Contains(line, "{}") {
		line += " {}"
	}
	return strings.ReplaceAll(line, "{}", strings.Join(words, " "))
}

// script returns the script that applies the patch of the tests. It first takes back the agent's changes to
// the files of that patch. It can run twice.
func script(t task) string {
	var b strings.Builder
	b.WriteString("# Brings the files of the tests to their state in the task.\nset -e\ngit='git -c core.fsmonitor=false -c core.hooksPath=/dev/null'\n")
	if strings.TrimSpace(t.Tests) == "" {
		return b.String()
	}
	for _, file := range patched(t.Tests) {
		name := text.QuoteShell(file)
		fmt.Fprintf(&b, "rm -rf -- %s\n$git checkout -q %s -- %s 2>/dev/null || true\n", name, text.QuoteShell(t.Commit), name)
	}
	b.WriteString("$git apply \"$EVAL_CASE_DIR/tests.patch\"\n")
	return b.String()
}

// patched returns the files within the folder that a patch changes.
func patched(patch string) (files []string) {
	for line := range strings.Lines(patch) {
		for _, prefix := range []string{"--- a/", "+++ b/"} {
			name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), prefix)
			if ok && filepath.IsLocal(name) && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return files
}

// listOf returns texts as a list of YAML.
func listOf(list []string, indent string) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s- %s\n", indent, text.QuoteJSON(s))
	}
	return b.String()
}
