package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/strictyaml"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolschema"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
)

const (
	suiteFile = "suite.yaml"
	caseFile  = "case.yaml"
	filesDir  = "files"
	maxFile   = 4 << 20 // bytes of a file of a suite
)

// A suiteSpec is the content of suite.yaml.
type suiteSpec struct {
	Name        string       `yaml:"name"`
	Repetitions int          `yaml:"repetitions"`
	Parallel    int          `yaml:"parallel"`
	BudgetUSD   float64      `yaml:"budget_usd"`
	Judge       string       `yaml:"judge"`
	Sandbox     *sandboxSpec `yaml:"sandbox"`
	Defaults    commonSpec   `yaml:"defaults"`
	Cases       []caseSpec   `yaml:"cases"`
}

type sandboxSpec struct {
	Off   bool     `yaml:"off"`
	Hosts []string `yaml:"hosts"`
	Write []string `yaml:"write"`
}

// A commonSpec is what a case has, and what all cases of a suite can have.
type commonSpec struct {
	Line    int           `yaml:",line"`
	Tags    []string      `yaml:"tags"`
	Setup   []string      `yaml:"setup"`
	Mode    string        `yaml:"mode"`
	Allow   []string      `yaml:"allow"`
	Deny    []string      `yaml:"deny"`
	Turns   int           `yaml:"turns"`
	CostUSD float64       `yaml:"cost_usd"`
	Timeout time.Duration `yaml:"timeout"`
	Graders []graderSpec  `yaml:"graders"`
}

// A caseSpec is the content of case.yaml, or a member of the cases of suite.yaml.
type caseSpec struct {
	commonSpec
	Name       string            `yaml:"name"`
	Prompt     string            `yaml:"prompt"`
	Prompts    []string          `yaml:"prompts"`
	Repository string            `yaml:"repository"`
	Commit     string            `yaml:"commit"`
	Folder     string            `yaml:"folder"`
	Files      map[string]string `yaml:"files"`
	Script     []stepSpec        `yaml:"script"`
	Session    string            `yaml:"session"`
}

// A graderSpec has exactly one of the keys after Timeout.
type graderSpec struct {
	Line    int           `yaml:",line"`
	Name    string        `yaml:"name"`
	Timeout time.Duration `yaml:"timeout"`

	Command    string          `yaml:"command"`
	File       *fileSpec       `yaml:"file"`
	Answer     *contentSpec    `yaml:"answer"`
	Schema     json.RawMessage `yaml:"schema"`
	Judge      *judgeSpec      `yaml:"judge"`
	Trajectory *trajectorySpec `yaml:"trajectory"`
}

type contentSpec struct {
	Equals   *string  `yaml:"equals"`
	Contains []string `yaml:"contains"`
	Lacks    []string `yaml:"lacks"`
	Matches  string   `yaml:"matches"`
}

type fileSpec struct {
	Path     string   `yaml:"path"`
	Absent   bool     `yaml:"absent"`
	Equals   *string  `yaml:"equals"`
	Contains []string `yaml:"contains"`
	Lacks    []string `yaml:"lacks"`
	Matches  string   `yaml:"matches"`
}

type judgeSpec struct {
	Rubric string   `yaml:"rubric"`
	Pass   float64  `yaml:"pass"`
	Files  []string `yaml:"files"`
}

type trajectorySpec struct {
	Used    []string      `yaml:"used"`
	Unused  []string      `yaml:"unused"`
	Order   []string      `yaml:"order"`
	Calls   int           `yaml:"calls"`
	Turns   int           `yaml:"turns"`
	CostUSD float64       `yaml:"cost_usd"`
	Time    time.Duration `yaml:"time"`
}

// Load reads a suite: a folder with the file suite.yaml, in which each folder with a file case.yaml
// is a case. Its error lists all mistakes, with files and lines. docs/evaluations.md describes the
// files.
func Load(folder string) (*Suite, error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("eval: %w", err)
	}
	l := &loader{dir: dir, folder: folder}
	s := l.suite()
	if len(l.faults) == 0 {
		return s, nil
	}
	slices.SortStableFunc(l.faults, func(a, b *strictyaml.Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	errs := make([]error, len(l.faults))
	for i, f := range l.faults {
		errs[i] = f
	}
	return nil, errors.Join(errs...)
}

// A loader reads the files of a suite and collects their mistakes.
type loader struct {
	folder   string // as the user wrote it
	dir      string // absolute
	file     string // that is read now, for mistakes
	unread   bool   // it has mistakes that can cause others, such as misspelt keys
	defaults commonSpec
	basics   permission.Policy // of the defaults
	faults   []*strictyaml.Fault
}

func (l *loader) fault(line int, format string, args ...any) {
	l.faults = append(l.faults, &strictyaml.Fault{File: l.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// read decodes a file of the suite.
func (l *loader) read(name string, to any) bool {
	l.file = filepath.Join(l.folder, name)
	data, err := plainfile.ReadFile(filepath.Join(l.dir, name), maxFile)
	if err != nil {
		l.fault(0, "%v", err)
		return false
	}
	faults := strictyaml.Decode(l.file, data, to)
	l.faults = append(l.faults, faults...)
	l.unread = len(faults) > 0
	return len(faults) == 0
}

func (l *loader) suite() *Suite {
	var spec suiteSpec
	if _, err := os.Stat(filepath.Join(l.dir, suiteFile)); err != nil {
		l.file = l.folder
		l.fault(0, "a suite is a folder with the file %s: %v", suiteFile, err)
		return nil
	}
	l.read(suiteFile, &spec)
	s := &Suite{Name: cmp.Or(spec.Name, filepath.Base(l.dir)), Repetitions: spec.Repetitions, Parallel: spec.Parallel, BudgetUSD: spec.BudgetUSD, Judge: spec.Judge, dir: l.dir}
	if b := spec.Sandbox; b != nil {
		s.Sandbox = &sandbox.Settings{Enabled: !b.Off, Network: sandbox.Network{AllowedDomains: b.Hosts}, Filesystem: sandbox.Filesystem{AllowWrite: b.Write}}
		if err := s.Sandbox.Check(); err != nil {
			l.fault(0, "sandbox: %v", err)
		}
	}
	unread := l.unread
	l.defaults = spec.Defaults
	l.graders(spec.Defaults.Graders)
	l.basics = l.policy(spec.Defaults.Line, spec.Defaults.Mode, spec.Defaults.Allow, spec.Defaults.Deny)
	for _, c := range spec.Cases {
		l.file, l.unread = filepath.Join(l.folder, suiteFile), unread
		s.Cases = append(s.Cases, l.caseOf(c, ""))
	}
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		l.fault(0, "%v", err)
	}
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(l.dir, e.Name(), caseFile)); err != nil || !e.IsDir() {
			continue
		}
		c := caseSpec{commonSpec: commonSpec{Line: 1}}
		if l.read(filepath.Join(e.Name(), caseFile), &c) {
			if c.Name != "" {
				l.fault(c.Line, "a case in a folder has the name of the folder; remove the key name")
			}
			c.Name = e.Name()
			s.Cases = append(s.Cases, l.caseOf(c, e.Name()))
		}
	}
	l.names(s.Cases)
	return s
}

// names reports cases of the same name, and a suite without cases.
func (l *loader) names(cases []Case) {
	l.file = filepath.Join(l.folder, suiteFile)
	if len(cases) == 0 && len(l.faults) == 0 {
		l.fault(0, "the suite has no cases; list them at cases, or make a folder with a %s for each", caseFile)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.Name] {
			l.fault(0, "two cases have the name %q", c.Name)
		}
		seen[c.Name] = true
	}
}

// caseOf returns the case that a spec describes. within is its folder in the suite; "": it has none.
func (l *loader) caseOf(spec caseSpec, within string) Case {
	d := l.defaults
	wrong := func(format string, args ...any) { l.fault(spec.Line, format, args...) }
	c := Case{
		Name: spec.Name, Tags: join(d.Tags, spec.Tags), Prompts: spec.Prompts, Repository: spec.Repository, Commit: spec.Commit,
		Files: spec.Files, Setup: join(d.Setup, spec.Setup),
		Budget:  agent.Budget{Turns: cmp.Or(spec.Turns, d.Turns), USD: cmp.Or(spec.CostUSD, d.CostUSD), Time: cmp.Or(spec.Timeout, d.Timeout)},
		Graders: append(l.graders(spec.Graders), l.gradersOf(d.Graders)...),
	}
	if spec.Name == "" {
		wrong("the case has no name; add the key name")
		c.Name = "unnamed"
	}
	if spec.Prompt != "" {
		if len(spec.Prompts) > 0 {
			wrong("write prompt or prompts, not both")
		}
		c.Prompts = []string{spec.Prompt}
	}
	l.places(&c, spec, within)
	l.permissions(&c, spec)
	if len(spec.Script) > 0 || spec.Session != "" {
		c.Model = l.model(spec, within)
	}
	for _, err := range c.check() {
		if l.unread {
			break
		}
		wrong("%s", strings.TrimPrefix(err.Error(), "eval: "))
	}
	data, err := json.Marshal([]any{spec.Script, spec.Session})
	if err != nil {
		wrong("%v", err)
	}
	c.spec = string(data)
	return c
}

// places finds the folders of a case.
func (l *loader) places(c *Case, spec caseSpec, within string) {
	if within != "" {
		c.dir = filepath.Join(l.dir, within)
		if info, err := os.Stat(filepath.Join(c.dir, filesDir)); err == nil && info.IsDir() {
			c.Folder = filepath.Join(c.dir, filesDir)
		}
	}
	if spec.Folder != "" {
		folder := filepath.Join(l.dir, within, filepath.FromSlash(spec.Folder))
		switch info, err := os.Stat(folder); {
		case !l.within(folder):
			l.fault(spec.Line, "folder: %s is outside of the suite", spec.Folder)
		case c.Folder != "":
			l.fault(spec.Line, "the case has a folder %s; remove the key folder", filesDir)
		case err != nil || !info.IsDir():
			l.fault(spec.Line, "folder: there is no folder %s", folder)
		default:
			c.Folder = folder
		}
	}
	// A path that is there is one; anything else is an address.
	if local := filepath.Join(l.dir, within, filepath.FromSlash(c.Repository)); c.Repository != "" && !filepath.IsAbs(c.Repository) && !strings.Contains(c.Repository, ":") {
		if _, err := os.Stat(local); err != nil {
			l.fault(spec.Line, "repository: there is no folder %s; write a path from the folder of the case, or an address such as https://example.com/a.git", local)
		}
		c.Repository = local
	}
}

// within reports whether a folder is in the suite, also if links lead to it.
func (l *loader) within(folder string) bool {
	dir, err := filepath.EvalSymlinks(l.dir)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	} else if rel, err := filepath.Rel(l.dir, folder); err == nil { // it is missing
		return filepath.IsLocal(rel)
	}
	rel, err := filepath.Rel(dir, folder)
	return err == nil && filepath.IsLocal(rel)
}

// permissions joins the mode and the rules of a case with those of all cases.
func (l *loader) permissions(c *Case, spec caseSpec) {
	own := l.policy(spec.Line, spec.Mode, spec.Allow, spec.Deny)
	c.Permissions.Mode = cmp.Or(own.Mode, l.basics.Mode)
	c.Permissions.Allow = slices.Concat(l.basics.Allow, own.Allow)
	c.Permissions.Deny = slices.Concat(l.basics.Deny, own.Deny)
}

// policy reads a mode and rules.
func (l *loader) policy(line int, mode string, allow, deny []string) (p permission.Policy) {
	var err error
	if mode != "" {
		if p.Mode, err = permission.ParseMode(mode); err != nil {
			l.fault(line, "mode: %v", err)
		}
	}
	rules := func(key string, list []string) (out []permission.Rule) {
		for _, r := range list {
			rule, err := permission.ParseRule(r)
			if err != nil {
				l.fault(line, "%s: %v", key, err)
			}
			out = append(out, rule)
		}
		return out
	}
	p.Allow, p.Deny = rules("allow", allow), rules("deny", deny)
	return p
}

// graders reads graders and reports their mistakes.
func (l *loader) graders(specs []graderSpec) []Grader {
	for _, g := range specs {
		l.checkGrader(g)
	}
	return l.gradersOf(specs)
}

// checkGrader reports the mistakes of a grader.
func (l *loader) checkGrader(g graderSpec) {
	wrong := func(format string, args ...any) { l.fault(g.Line, format, args...) }
	var kinds []string
	for _, k := range []struct {
		kind string
		is   bool
	}{{"command", g.Command != ""}, {"file", g.File != nil}, {"answer", g.Answer != nil}, {"schema", g.Schema != nil}, {"judge", g.Judge != nil}, {"trajectory", g.Trajectory != nil}} {
		if k.is {
			kinds = append(kinds, k.kind)
		}
	}
	// Then a key is misspelt or has a wrong value: what is missing because of it is no second mistake.
	misread := slices.ContainsFunc(l.faults, func(f *strictyaml.Fault) bool { return f.File == l.file && f.Line == g.Line })
	switch len(kinds) {
	case 1:
	case 0:
		if misread {
			return
		}
		wrong("a grader needs one of the keys command, file, answer, schema, judge and trajectory")
	default:
		wrong("a grader has one kind, not %s; make a list member of each", strings.Join(kinds, " and "))
	}
	content := func(kind string, c contentSpec, other bool) {
		if _, err := regexp.Compile(c.Matches); err != nil {
			wrong("%s: matches: %v", kind, err)
		}
		if !misread && !other && c.Equals == nil && len(c.Contains)+len(c.Lacks) == 0 && c.Matches == "" {
			wrong("%s: add at least one of equals, contains, lacks and matches", kind)
		}
	}
	if f := g.File; f != nil {
		content("file", f.content(), f.Absent || f.Path != "") // a file that is there is enough
		if !filepath.IsLocal(f.Path) {
			wrong("file: path must be a path within the folder of the trial, not %q", f.Path)
		}
		if c := f.content(); f.Absent && (c.Equals != nil || len(c.Contains)+len(c.Lacks) > 0 || c.Matches != "") {
			wrong("file: a file that is absent has no content; remove the other keys")
		}
	}
	if g.Answer != nil {
		content("answer", *g.Answer, false)
	}
	if g.Schema != nil {
		if _, err := toolschema.ResolveJSON(g.Schema); err != nil {
			wrong("schema: %v", err)
		}
	}
	if j := g.Judge; j != nil && strings.TrimSpace(j.Rubric) == "" {
		wrong("judge: add the key rubric")
	} else if j != nil && j.Pass > 1 {
		wrong("judge: pass must be from 0 to 1")
	}
	if tr := g.Trajectory; tr != nil && !misread && len(tr.Used)+len(tr.Unused)+len(tr.Order) == 0 && tr.Calls+tr.Turns == 0 && tr.CostUSD == 0 && tr.Time == 0 {
		wrong("trajectory: add at least one of used, unused, order, calls, turns, cost_usd and time")
	}
}

func (f *fileSpec) content() contentSpec {
	return contentSpec{f.Equals, f.Contains, f.Lacks, f.Matches}
}

func (c contentSpec) public() Content {
	return Content{Equals: c.Equals, Contains: c.Contains, Lacks: c.Lacks, Matches: c.Matches}
}

// gradersOf returns the graders of specs that were checked.
func (l *loader) gradersOf(specs []graderSpec) (out []Grader) {
	for _, s := range specs {
		var g Grader
		switch {
		case s.Command != "":
			g = Command(s.Command)
		case s.File != nil:
			c := s.File.content().public()
			c.Absent = s.File.Absent
			g = File(s.File.Path, c)
		case s.Answer != nil:
			g = Answer(s.Answer.public())
		case s.Schema != nil:
			g = Schema(s.Schema)
		case s.Judge != nil:
			g = Judge(s.Judge.Rubric, s.Judge.Pass, s.Judge.Files...)
		case s.Trajectory != nil:
			t := s.Trajectory
			g = Trajectory(TrajectoryRules{Used: t.Used, Unused: t.Unused, Order: t.Order, Calls: t.Calls, Turns: t.Turns, USD: t.CostUSD, Time: t.Time})
		default:
			continue
		}
		g.Name, g.Timeout = cmp.Or(s.Name, g.Name), s.Timeout
		out = append(out, g)
	}
	return out
}

// join returns the members of lists in a list of its own.
func join(lists ...[]string) []string { return slices.Concat(lists...) }

// short returns a text for the name of a grader.
func short(s string) string { return text.Runes(text.OneLine(s), 60) }
