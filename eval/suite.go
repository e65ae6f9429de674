package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
)

// A Suite is a list of cases. [Load] reads one from a folder. A program can also write one in Go.
type Suite struct {
	Name        string  // for reports
	Cases       []Case  // in the order in which they run
	Repetitions int     // runs of each case with each variant; 0: 1
	Parallel    int     // trials at the same time; 0: 2
	BudgetUSD   float64 // of all trials together; 0: no limit
	Judge       string  // name of the model for judges, for the program that runs the suite
	// Sandbox refines the sandbox of the commands of setups and graders. Its Enabled is whether
	// there is one. Nil: there is one, in which commands change only the trial's folder and
	// reach no network.
	Sandbox *sandbox.Settings

	dir string // of a suite that was loaded, absolute
}

// A Case is a task for an agent and the graders that say whether it was solved.
type Case struct {
	Name    string   // a folder's name: no path, unique in the suite
	Tags    []string // to choose cases by, and for reports
	Prompts []string // sent one after the other in the same session

	// The trial's folder begins with a clone of Repository at Commit, if it is not "". Then the
	// content of Folder is copied into it, then Files, by path. Then the commands of Setup run.
	Repository string // a path or an address for git clone
	Commit     string // what to check out; "": the head of the clone
	Folder     string
	Files      map[string]string
	Setup      []string

	// Permissions are joined with those of the agent: a Mode replaces that of the agent, and
	// rules are added. Trials run without a person, so what a rule or the mode would ask about
	// is denied.
	Permissions permission.Policy
	// Budget limits a trial, all its prompts together: Turns, USD and Time. Graders look at a
	// trial that reached a limit as at any other.
	Budget agent.Budget
	// Model returns a scripted or replayed model for one trial, which variants find in
	// [Place].Model. Nil: there is none.
	Model   func() (llm.Model, error)
	Graders []Grader

	dir  string // of a case that was loaded, absolute
	spec string // what was loaded, for its sum
}

// check returns all mistakes of the suite.
func (s *Suite) check() error {
	var errs []error
	if s.Name == "" {
		errs = append(errs, errors.New("eval: the suite has no Name"))
	}
	if len(s.Cases) == 0 {
		errs = append(errs, fmt.Errorf("eval: the suite %q has no cases", s.Name))
	}
	seen := map[string]bool{}
	for i := range s.Cases {
		c := &s.Cases[i]
		errs = append(errs, c.check()...)
		if seen[c.Name] {
			errs = append(errs, fmt.Errorf("eval: two cases have the name %q", c.Name))
		}
		seen[c.Name] = true
	}
	return errors.Join(errs...)
}

func (c *Case) check() (errs []error) {
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("eval: case %q: %s", c.Name, fmt.Sprintf(format, args...)))
	}
	if !plainName(c.Name) {
		wrong("its name must be letters, digits, and . _ - within")
	}
	if len(c.Prompts) == 0 {
		wrong("it has no prompt")
	}
	for _, p := range c.Prompts {
		if strings.TrimSpace(p) == "" {
			wrong("a prompt is empty")
		}
	}
	for path := range c.Files {
		if !filepath.IsLocal(path) || path == "." {
			wrong("the file %q must be a path within the folder", path)
		}
	}
	if strings.HasPrefix(c.Repository, "-") || strings.HasPrefix(c.Commit, "-") {
		wrong("a repository and a commit must not begin with -")
	}
	if c.Commit != "" && c.Repository == "" {
		wrong("a commit needs a repository")
	}
	if len(c.Graders) == 0 {
		wrong("it has no graders")
	}
	for _, g := range c.Graders {
		if g.Grade == nil {
			wrong("the grader %q has no Grade", g.Name)
		}
	}
	return errs
}

// plainName reports whether a name can be that of a folder everywhere.
func plainName(name string) bool {
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r) {
			return false
		}
	}
	return name != "" && len(name) <= 100 && name[0] != '.' && name[0] != '-' && filepath.IsLocal(name)
}

// sum changes with everything about the case that can change how it ends, as far as it can be seen.
func (c *Case) sum() (string, error) {
	h := sha256.New()
	graders := make([]string, len(c.Graders))
	for i, g := range c.Graders {
		graders[i] = g.Kind + " " + g.Name + " " + g.spec
	}
	if err := json.NewEncoder(h).Encode([]any{c.Name, c.Tags, c.Prompts, c.Repository, c.Commit, c.Files, c.Setup, c.Permissions, c.Budget, graders, c.spec}); err != nil {
		return "", fmt.Errorf("eval: case %q: %w", c.Name, err)
	}
	folders := []string{c.Folder, c.dir} // c.dir has files of graders
	if rel, err := filepath.Rel(c.dir, c.Folder); c.dir != "" && err == nil && filepath.IsLocal(rel) {
		folders = folders[1:]
	}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		if err := sumFolder(h, folder); err != nil {
			return "", fmt.Errorf("eval: case %q: %w", c.Name, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// sumFolder adds the files of a folder to a sum.
func sumFolder(h io.Writer, folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v %d\n", filepath.ToSlash(rel), info.Mode(), info.Size())
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintf(h, "%q\n", to)
			return err
		case !d.Type().IsRegular():
			return nil
		}
		f, err := plainfile.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(h, f)
		return errors.Join(err, f.Close())
	})
}
