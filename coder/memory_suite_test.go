package coder_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/coder"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A lesson is something that a first session learns and a second one needs.
type lesson struct {
	kind     memory.Kind
	title    string
	text     string
	question string // of the second session
	words    string // with which its model searches
	answer   string // a regular expression, which the question does not match
	how      string // "": by the tool; or review, quote, user, correct, crowded
}

// long is a text that the list of a prompt leaves out.
var long = strings.Repeat("The reasons are in the minutes of the meeting. ", 8)

var lessons = []lesson{
	{memory.Preference, "The user wants answers in German", "", "Say hello.", "language", `in German`, ""},
	{memory.Preference, "Short answers, without a summary", "", "How do you answer?", "answers", `without a summary`, ""},
	{memory.Preference, "Tables instead of lists", "Only for more than four rows.", "How many rows does a table need?", "tables", `four rows`, ""},
	{memory.Preference, "Ask before a push", "", "May you push?", "push", `Ask before a push`, "user"},
	{memory.Preference, "Commit messages in the imperative", "At most 70 characters.", "How long is a subject?", "commit messages", `70 characters`, "user"},
	{memory.Preference, "The editor is Helix", long + "Open files with hx.", "Which command opens files?", "editor", `with hx`, "user"},
	{memory.Decision, "PostgreSQL instead of SQLite", "Several workers write at once.", "Why this database?", "postgresql", `workers write at once`, ""},
	{memory.Decision, "No framework for HTTP", "The standard library has what is needed.", "Which framework?", "framework", `standard library`, ""},
	{memory.Decision, "Ids are ULIDs", long + "They sort by time.", "Why ULIDs?", "ids", `sort by time`, ""},
	{memory.Decision, "The API has no version in its path", "A header says it: X-Api-Version.", "Where is the version?", "api version", `X-Api-Version`, ""},
	{memory.Decision, "Logs go to stderr as JSON", "", "Where do logs go?", "logs", `stderr as JSON`, "review"},
	{memory.Convention, "Run the tests with -race", "", "How do you run the tests?", "tests", `-race`, ""},
	{memory.Convention, "Imports are in three groups", "Standard library, others, ours.", "Which groups?", "imports", `others, ours`, ""},
	{memory.Convention, "Files of tests are beside the code", "Except for end-to-end tests, in test/e2e.", "Where are end-to-end tests?", "tests", `test/e2e`, ""},
	{memory.Convention, "Errors begin with a verb in -ing", "", "How does an error begin?", "errors", `verb in -ing`, "review"},
	{memory.Convention, "Generated files are in gen", long + "Make them with make gen.", "How are they made?", "generated files", `make gen\b`, ""},
	{memory.Convention, "Always use tabs in this repository, please", "", "How do you indent?", "indent tabs", `use tabs`, "quote"},
	{memory.Convention, "Branches begin with the number of the issue", "Such as 4711-fix-parser.", "Name a branch.", "branches", `4711-fix-parser`, "correct"},
	{memory.Pitfall, "The parser loops on empty input", "Check the length first.", "What of empty input?", "parser", `Check the length`, ""},
	{memory.Pitfall, "go vet fails without CGO_ENABLED=0", "", "Why does go vet fail?", "vet", `CGO_ENABLED=0`, ""},
	{memory.Pitfall, "The tests need port 8089", "Something else may listen there.", "Why do the tests fail?", "tests", `port 8089`, "review"},
	{memory.Pitfall, "macOS has another sed", long + "Write sed -i '' there.", "How do you call it there?", "sed macos", `sed -i ''`, ""},
	{memory.Procedure, "Release: tag, wait for CI, publish", "", "How do you release?", "release", `wait for CI`, ""},
	{memory.Procedure, "A new migration", "Run make migration NAME=x, then edit the file.", "How do you begin?", "migration", `make migration`, ""},
	{memory.Procedure, "Restore a backup", "Stop the workers, run restore.sh, start them.", "How do you restore?", "restore backup", `restore\.sh`, "crowded"},
	{memory.Procedure, "Deploy by hand", "Run kamal deploy in ops.", "How do you deploy?", "deploy", `kamal deploy`, "correct"},
}

// TestMemorySuite runs two sessions for each lesson. The model of the second one says only what its
// requests hold. With the memory it knows all, without it nothing.
func TestMemorySuite(t *testing.T) {
	t.Parallel()
	if len(lessons) < 20 {
		t.Fatal(len(lessons))
	}
	known := map[bool]int{}
	for i, l := range lessons {
		for _, on := range []bool{true, false} {
			dir, home := l.first(t, on)
			answer := l.second(t, on, dir, home)
			if knows := regexp.MustCompile(l.answer).MatchString(answer); knows != on {
				t.Errorf("lesson %d, %s: with the memory %v, the answer is %q", i, l.title, on, answer)
			} else if knows {
				known[on]++
			}
		}
		if regexp.MustCompile(l.answer).MatchString(l.question) {
			t.Errorf("lesson %d: the question has the answer", i)
		}
	}
	t.Logf("of %d lessons, %d are known with the memory and %d without", len(lessons), known[true], known[false])
}

// options returns those of a session in the folders.
func (l lesson) options(dir, home string, on bool) coder.Options {
	o := coder.Options{Dir: dir, Home: home, Trust: coder.Recorded(home), Agent: agent.Agent{
		Permissions: permission.Policy{Allow: []permission.Rule{"Memory"}}, Sessions: session.Dir(filepath.Join(home, "sessions"))}}
	if on {
		o.Memory = &memory.Memory{}
		if l.how == "crowded" {
			o.Memory.Budget = 700 // not enough for all
		}
	}
	return o
}

// first lets a session learn, and a person accept. It returns the folders.
func (l lesson) first(t *testing.T, on bool) (dir, home string) {
	t.Helper()
	dir, home = folder(t), folder(t)
	input := map[string]string{"action": "add", "kind": string(l.kind), "title": l.title, "text": l.text}
	if l.how == "user" {
		input["store"] = "user"
	}
	if l.how == "correct" {
		input["title"], input["text"] = "Old: "+l.words, "This was so once."
	}
	steps := []llmtest.Step{llmtest.Call(llmtest.Use("", "Memory", input)), llmtest.Say("I will know.")}
	if l.how == "review" || l.how == "quote" {
		steps = steps[1:]
	}
	c := open(t, l.options(dir, home, on), llmtest.Script(steps...))
	s := c.Session("first")
	if _, err := s.Prompt(t.Context(), "For the future: "+l.title+". "+l.text); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !on {
		return dir, home
	}
	acceptAll(t, c)
	switch l.how {
	case "review":
		l.review(t, c, memory.Proposal{Action: "add", Kind: l.kind, Title: l.title, Text: l.text})
		acceptAll(t, c)
	case "quote":
		l.review(t, c, memory.Proposal{Action: "add", Kind: l.kind, Title: "Tabs", Quote: l.title})
	case "correct":
		entries, _, err := c.Memory.Stores[0].Store.Entries()
		if err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
		l.review(t, c, memory.Proposal{Action: "correct", ID: entries[0].ID, Title: l.title, Text: l.text})
		acceptAll(t, c)
	case "crowded":
		for i := range 6 {
			noteOften(t, c.Memory.Stores[0].Store, fmt.Sprintf("Convention %d is here because %s", i, strings.Repeat("it is so ", 8)))
		}
	}
	return dir, home
}

// noteOften adds an entry that a person has confirmed often, so that it comes first.
func noteOften(t *testing.T, s *memory.Store, title string) {
	t.Helper()
	e, err := s.Add(t.Context(), memory.Entry{Kind: memory.Convention, Title: title}, byPerson)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Accept(t.Context(), e.ID, byPerson); err != nil {
			t.Fatal(err)
		}
	}
}

// acceptAll is a person who accepts everything.
func acceptAll(t *testing.T, c *coder.Coder) {
	t.Helper()
	for _, n := range c.Memory.Stores {
		entries, problems, err := n.Store.Entries()
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		for _, e := range entries {
			if e.State != memory.Candidate {
				continue
			}
			if err := n.Store.Accept(t.Context(), e.ID, byPerson); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var saidFact = regexp.MustCompile(`#(\d+) user: `)

// review lets a model propose from the record of the first session.
func (l lesson) review(t *testing.T, c *coder.Coder, p memory.Proposal) {
	t.Helper()
	model := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		at := saidFact.FindStringSubmatch(r.Transcript())
		if at == nil {
			t.Errorf("the record has nothing of the user: %s", r.Transcript())
			return llmtest.Say("{}")
		}
		one := map[string]any{"action": p.Action, "facts": []json.Number{json.Number(at[1])}, "why": "said"}
		for name, value := range map[string]string{"id": p.ID, "kind": string(p.Kind), "title": p.Title, "text": p.Text, "quote": p.Quote} {
			if value != "" {
				one[name] = value
			}
		}
		data, err := json.Marshal(map[string]any{"proposals": []any{one}})
		if err != nil {
			t.Error(err)
		}
		return llmtest.Say(string(data))
	}}
	r := &memory.Reviewer{Memory: c.Memory, Model: model, Sessions: c.Agent.Sessions, AcceptQuoted: true}
	got, err := r.Review(t.Context(), "first")
	if err != nil || len(got.Proposals) != 1 || got.Proposals[0].Refused != "" {
		t.Fatalf("%+v, %v", got, err)
	}
}

var entryID = regexp.MustCompile(`more in the entry\) \(([a-z0-9-]+)`)

// second asks a new session, in another project if the lesson is about the user.
func (l lesson) second(t *testing.T, on bool, dir, home string) string {
	t.Helper()
	if l.how == "user" {
		dir = folder(t)
	}
	answer, searched := regexp.MustCompile(".*"+l.answer+".*"), false
	model := &llmtest.Model{Rule: func(r *llmtest.Request, n int) llmtest.Step {
		found, more := "", ""
		for line := range strings.Lines(r.Transcript()) {
			if answer.MatchString(line) {
				found = line
			}
			if at := entryID.FindStringSubmatch(line); at != nil {
				more = at[1]
			}
		}
		tooled := false
		for _, tl := range r.Tools {
			tooled = tooled || tl.Name == "Memory"
		}
		switch {
		case found != "":
			return llmtest.Say("I know: " + found)
		case tooled && !searched:
			searched = true
			return llmtest.Call(llmtest.Use("", "Memory", map[string]string{"action": "search", "query": l.words}))
		case tooled && more != "" && n < 3:
			return llmtest.Call(llmtest.Use("", "Memory", map[string]string{"action": "read", "id": more}))
		}
		return llmtest.Say("I do not know.")
	}}
	c := open(t, l.options(dir, home, on), model)
	res, err := c.Prompt(t.Context(), l.question)
	if err != nil {
		t.Fatal(err)
	}
	if l.how == "correct" && strings.Contains(model.Requests()[0].Transcript(), "This was so once") {
		t.Errorf("%s: what was corrected is still there", l.title)
	}
	return res.Text
}
