package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolschema"
)

// A Grader looks at a trial after the agent has ended.
type Grader struct {
	Name    string        // unique in the case; "": the Kind
	Kind    string        // such as "command"; "": "go"
	Timeout time.Duration // of Grade; 0: 10 minutes
	// Grade says whether the trial is good. It fills in Passed, Score and Detail; a Score of 0
	// of a grade that passed counts as 1. An error means that there is no answer. Then the whole trial has
	// no grades, and its Error says why.
	Grade func(ctx context.Context, p *Place, t *Trial) (Grade, error)

	spec string // what the grader looks for, for the sum of its case
}

// maxDetail limits the Detail of a grade in bytes.
const maxDetail = 4000

// specOf returns what a grader looks for as a text.
func specOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func passed() (Grade, error) { return Grade{Passed: true, Score: 1}, nil }

func failed(format string, args ...any) (Grade, error) {
	return Grade{Detail: text.Bytes(fmt.Sprintf(format, args...), maxDetail)}, nil
}

// Command passes if a command line of the shell succeeds in the trial's folder. It runs in the
// sandbox of [Place.Run].
func Command(line string) Grader {
	return Grader{Name: short(line), Kind: "command", spec: line, Grade: func(ctx context.Context, p *Place, _ *Trial) (Grade, error) {
		code, out, err := p.Run(ctx, line)
		if err != nil {
			return Grade{}, err
		}
		if code != 0 {
			return failed("exit code %d: %s", code, tail(strings.TrimSpace(out), maxDetail-100))
		}
		return passed()
	}}
}

// tail returns the end of a text, which says more about a failed command than its beginning.
func tail(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return text.Ellipsis + strings.ToValidUTF8(s[len(s)-limit:], "")
}

// Content is what a text must be like. Empty fields demand nothing.
type Content struct {
	Equals   *string  // but for white space at both ends
	Contains []string // all of them
	Lacks    []string // none of them
	Matches  string   // a regular expression, which matches any part
	Absent   bool     // of a file: there is none
}

// problem says what is wrong with a text, "" if nothing is.
func (c Content) problem(s string) (string, error) {
	if c.Equals != nil && strings.TrimSpace(s) != strings.TrimSpace(*c.Equals) {
		return fmt.Sprintf("it is %q, not %q", text.Runes(s, 500), text.Runes(*c.Equals, 500)), nil
	}
	for _, part := range c.Contains {
		if !strings.Contains(s, part) {
			return fmt.Sprintf("it does not contain %q: %q", part, text.Runes(s, 500)), nil
		}
	}
	for _, part := range c.Lacks {
		if strings.Contains(s, part) {
			return fmt.Sprintf("it contains %q", part), nil
		}
	}
	if c.Matches != "" {
		pattern, err := regexp.Compile(c.Matches)
		if err != nil {
			return "", err
		}
		if !pattern.MatchString(s) {
			return fmt.Sprintf("it does not match %s: %q", c.Matches, text.Runes(s, 500)), nil
		}
	}
	return "", nil
}

// Answer passes if the text of the last answer is like c.
func Answer(c Content) Grader {
	return Grader{Kind: "answer", spec: specOf(c), Grade: func(_ context.Context, _ *Place, t *Trial) (Grade, error) {
		return c.grade("the answer", t.Answer)
	}}
}

func (c Content) grade(name, s string) (Grade, error) {
	problem, err := c.problem(s)
	switch {
	case err != nil:
		return Grade{}, err
	case problem != "":
		return failed("%s: %s", name, problem)
	}
	return passed()
}

// maxGraded limits the bytes of a file that graders read.
const maxGraded = 16 << 20

// File passes if a file in the trial's folder is like c. Links that lead out of the folder are
// not followed.
func File(path string, c Content) Grader {
	return Grader{Name: "file " + short(path), Kind: "file", spec: specOf([]any{path, c}), Grade: func(_ context.Context, p *Place, _ *Trial) (Grade, error) {
		data, err := p.read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && c.Absent:
			return passed()
		case errors.Is(err, fs.ErrNotExist):
			return failed("there is no file %s", path)
		case c.Absent:
			return failed("the file %s is there", path)
		case err != nil:
			return failed("%s: %v", path, err)
		}
		return c.grade(path, string(data))
	}}
}

// read returns the content of a file in the folder. The agent may have made it anything.
func (p *Place) read(path string) (_ []byte, err error) {
	root, err := p.root()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	data, whole, err := plainfile.Read(root, filepath.FromSlash(path), maxGraded)
	if err == nil && !whole {
		err = fmt.Errorf("it has more than %d bytes", maxGraded)
	}
	return data, err
}

// Schema passes if the last answer is JSON that satisfies a JSON Schema. A fence of Markdown around
// the JSON does not count.
func Schema(schema json.RawMessage) Grader {
	return Grader{Kind: "schema", spec: string(schema), Grade: func(_ context.Context, _ *Place, t *Trial) (Grade, error) {
		resolved, err := toolschema.ResolveJSON(schema)
		if err != nil {
			return Grade{}, err
		}
		var v any
		if err := json.Unmarshal([]byte(unfenced(t.Answer)), &v); err != nil {
			return failed("the answer is not JSON: %v: %q", err, text.Runes(t.Answer, 500))
		}
		if err := resolved.Validate(v); err != nil {
			return failed("the answer does not satisfy the schema: %v", err)
		}
		return passed()
	}}
}

// unfenced returns a text without a fence of Markdown around all of it.
func unfenced(s string) string {
	s = strings.TrimSpace(s)
	inner, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	inner, ok = strings.CutSuffix(inner, "```")
	_, inner, lines := strings.Cut(inner, "\n")
	if !ok || !lines {
		return s
	}
	return inner
}

// TrajectoryRules say how an agent may get to its answer. Empty fields demand nothing.
type TrajectoryRules struct {
	Used   []string      // tools that the agent calls
	Unused []string      // tools that it does not call
	Order  []string      // tools that it calls in this order, with any others between
	Calls  int           // at most, of all tools
	Turns  int           // at most
	USD    float64       // at most, without judges
	Time   time.Duration // at most
}

// Trajectory passes if the agent kept to the rules.
func Trajectory(c TrajectoryRules) Grader {
	return Grader{Kind: "trajectory", spec: specOf(c), Grade: func(_ context.Context, p *Place, t *Trial) (Grade, error) {
		if wrong := c.problems(t, p.agentUSD); len(wrong) > 0 {
			return failed("%s", strings.Join(wrong, "; "))
		}
		return passed()
	}}
}

func (c TrajectoryRules) problems(t *Trial, usd float64) (out []string) {
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, name := range c.Used {
		if !slices.Contains(t.Tools, name) {
			wrong("%s was not called", name)
		}
	}
	for _, name := range c.Unused {
		if slices.Contains(t.Tools, name) {
			wrong("%s was called", name)
		}
	}
	rest := t.Tools
	for _, name := range c.Order {
		i := slices.Index(rest, name)
		if i < 0 {
			wrong("the calls are not in the order %s, but %s", strings.Join(c.Order, ", "), cmp.Or(text.Runes(strings.Join(t.Tools, ", "), 300), "none"))
			break
		}
		rest = rest[i+1:]
	}
	if c.Calls > 0 && t.ToolCalls > c.Calls {
		wrong("%s, %d is the limit", text.Count(t.ToolCalls, "call"), c.Calls)
	}
	if c.Turns > 0 && t.Turns > c.Turns {
		wrong("%s, %d is the limit", text.Count(t.Turns, "turn"), c.Turns)
	}
	if c.USD > 0 && !t.CostKnown {
		wrong("the cost is not known, because a price is not")
	} else if c.USD > 0 && usd > c.USD {
		wrong("%.4f USD, %.4f is the limit", usd, c.USD)
	}
	if c.Time > 0 && t.Duration > c.Time {
		wrong("%v, %v is the limit", t.Duration.Round(time.Millisecond), c.Time)
	}
	return out
}
