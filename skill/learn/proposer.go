package learn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/skill"
)

const (
	maxEdits     = 8
	maxKnown     = 24 << 10 // bytes of what a review gets about skills
	maxKnownText = 8 << 10  // of it, the instructions of one
)

// A Proposer turns what reviews propose into proposals about files. It is the Skills of a
// [memory.Reviewer]. A skill of the project or of the user is changed where it is. For a skill of a
// plugin, or a built-in one, a copy is proposed, which then counts before it.
type Proposer struct {
	Store  *Store          // of the proposals
	Skills *skill.Registry // those that exist
	// Project is the folder of the project, and Home that of the user, absolute and free of symlinks. New
	// skills are proposed for the project, or for the user if Project is "".
	Project, Home string
}

// KnownSkills implements [memory.SkillReview].
func (p *Proposer) KnownSkills(used []string) string {
	var b strings.Builder
	all := p.Skills.All()
	slices.SortStableFunc(all, func(x, y *skill.Skill) int { return strings.Compare(x.Name, y.Name) })
	for _, s := range all {
		entry := fmt.Sprintf("- %s: %s\n", s.Name, text.Runes(text.OneLine(s.Description), 200))
		if slices.ContainsFunc(used, func(n string) bool { return strings.EqualFold(n, s.Name) }) {
			if _, body, err := p.file(s); err == nil && len(body) <= maxKnownText {
				entry += "  The session used it. Its instructions:\n<skill>\n" + body + "\n</skill>\n"
			}
		}
		if b.Len()+len(entry) > maxKnown {
			continue
		}
		b.WriteString(entry)
	}
	return secrets.Text(b.String())
}

// ProposeSkill implements [memory.SkillReview].
func (p *Proposer) ProposeSkill(ctx context.Context, session string, in memory.SkillProposal) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
	}
	out := Proposal{Session: session, Facts: in.Facts, Skill: in.Name, Why: in.Why}
	there := p.Skills.Get(in.Name)
	switch in.Action {
	case "new":
		if there != nil {
			return refuse("there is a skill %s already; it can be changed", there.Name)
		}
		if err := skill.New().Register(&skill.Skill{Name: in.Name}); err != nil || strings.ContainsAny(in.Name, ":.") {
			return refuse("%.80q cannot be the name of a new skill", in.Name)
		}
		if strings.TrimSpace(in.Description) == "" || strings.TrimSpace(in.Text) == "" {
			return refuse("a new skill needs a description and a text")
		}
		data, err := front.Format([]front.Value{front.New("name", in.Name), front.New("description", text.OneLine(in.Description))}, strings.TrimSpace(in.Text)+"\n")
		if err != nil {
			return "", err
		}
		out.After = string(data)
		out.Root, out.File = p.place(in.Name)
	case "change":
		if there == nil {
			return refuse("there is no skill %.80q", in.Name)
		}
		whole, body, err := p.file(there)
		if err != nil {
			return "", err
		}
		changed, err := edited(body, in.Edits)
		if err != nil {
			return refuse("%v", err)
		}
		out.Skill = there.Name
		out.After = strings.TrimSuffix(whole, body) + changed
		if out.Root = p.own(there); out.Root != "" {
			out.File, out.Before = there.File(), &whole
			break
		}
		out.Root, out.File = p.place(there.Name)
		out.Copies = there.From
	default:
		return refuse("there is no action %.40q", in.Action)
	}
	return p.Store.Add(ctx, out)
}

// place is where a new skill would be.
func (p *Proposer) place(name string) (root, file string) {
	root = p.Project
	if root == "" {
		root = p.Home
	}
	return root, filepath.Join(root, ".agents", "skills", name, skillscope.FileName)
}

// own returns the project or the home folder if a skill is one of their folders of skills, "" for a skill
// of a plugin or a built-in one.
func (p *Proposer) own(s *skill.Skill) string {
	for _, root := range []string{p.Project, p.Home} {
		if root == "" || s.File() == "" {
			continue
		}
		home, project := "", root
		if root == p.Home {
			home, project = root, ""
		}
		for _, f := range skill.Folders(home, project) {
			if rel, err := filepath.Rel(f.Path, s.File()); err == nil && filepath.IsLocal(rel) {
				return root
			}
		}
	}
	return ""
}

// file returns the file of a skill, and the instructions that end it.
func (p *Proposer) file(s *skill.Skill) (whole, body string, err error) {
	if s.File() == "" {
		values := []front.Value{front.New("name", s.Name), front.New("description", s.Description)}
		if s.When != "" {
			values = append(values, front.New("when-to-use", s.When))
		}
		if s.Hint != "" {
			values = append(values, front.New("argument-hint", s.Hint))
		}
		if len(s.Tools) > 0 {
			var rules []string
			for _, r := range s.Tools {
				rules = append(rules, string(r))
			}
			values = append(values, front.New("allowed-tools", rules))
		}
		if s.Hidden {
			values = append(values, front.New("user-invocable", false))
		}
		if s.Manual {
			values = append(values, front.New("disable-model-invocation", true))
		}
		body = strings.TrimSpace(s.Instructions) + "\n"
		data, err := front.Format(values, body)
		return string(data), body, err
	}
	if p.own(s) == "" { // its copy would lack the other files
		if strings.Contains(s.File(), skillscope.FileName) {
			if files, err := os.ReadDir(filepath.Dir(s.File())); err != nil || len(files) > 1 {
				return "", "", errors.Join(err, fmt.Errorf("%w: the skill %s has other files, which a copy would lack", ErrRefused, s.Name))
			}
		}
	}
	data, err := plainfile.ReadFile(s.File(), maxSkill)
	if err != nil {
		return "", "", fmt.Errorf("reading the skill %s: %w", s.Name, err)
	}
	_, rest, err := front.Split(data, true, maxSkill)
	return string(data), string(rest), err
}

// edited returns a text with edits.
func edited(body string, edits []memory.SkillEdit) (string, error) {
	if len(edits) == 0 || len(edits) > maxEdits {
		return "", fmt.Errorf("a change has 1 to %d edits", maxEdits)
	}
	for _, e := range edits {
		if n := strings.Count(body, e.Old); e.Old == "" || n != 1 {
			return "", fmt.Errorf("%.60q is %d times in the instructions, not once", e.Old, n)
		}
		body = strings.Replace(body, e.Old, e.New, 1)
	}
	return body, nil
}
