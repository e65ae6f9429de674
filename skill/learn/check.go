package learn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/internal/sharetext"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/skill"
)

// secrets finds keys and passwords.
var secrets = sharetext.Standard()

// check fails with [ErrRefused] unless the file of a proposal may become a skill: it can be read as the
// skill of that name, what it adds looks like no attack and holds no secret, and it changes nothing of
// what the skill may do.
func check(p *Proposal) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
	}
	if err := p.straight(); err != nil {
		return err
	}
	if len(p.After) > maxSkill || !utf8.ValidString(p.After) {
		return refuse("the skill has more than %d KB, or is not UTF-8", maxSkill>>10)
	}
	before := ""
	if p.Before != nil {
		before = *p.Before
	}
	if p.After == before {
		return refuse("it changes nothing")
	}
	new := added(before, p.After)
	if why := memory.Suspicious(new); why != "" {
		return refuse("%s", why)
	}
	if rule := secrets.SecretIn(new); rule != "" {
		return refuse("it holds a secret (%s)", rule)
	}
	after, err := understand(p.Skill, p.After)
	if err != nil {
		return refuse("%v", err)
	}
	if p.Before == nil {
		return nil
	}
	if !bytes.Equal(matterOf(before), matterOf(p.After)) {
		return refuse("it changes what is before the instructions of %s", after.Name)
	}
	return nil
}

// matterOf returns the front matter of a skill's file.
func matterOf(text string) []byte {
	matter, _, _ := front.Split([]byte(text), true, maxSkill)
	return matter
}

// added returns the lines that a change adds.
func added(before, after string) string {
	there := map[string]bool{}
	for line := range strings.Lines(before) {
		there[line] = true
	}
	var b strings.Builder
	for line := range strings.Lines(after) {
		if !there[line] {
			b.WriteString(line)
		}
	}
	return b.String()
}

// understand reads a text as the file of a skill.
func understand(name, text string) (*skill.Skill, error) {
	if name == "" || name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return nil, fmt.Errorf("%.80q cannot be the name of a skill", name)
	}
	dir, err := os.MkdirTemp("", "openagent-skill-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, name)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, skillscope.FileName), []byte(text), 0o600); err != nil {
		return nil, err
	}
	found := skill.Folder{Path: dir}.Load()
	for _, p := range found.Problems {
		var problem *front.Problem
		if errors.As(p, &problem) && problem.Skipped {
			return nil, fmt.Errorf("line %d: %s", problem.Line, problem.Text)
		}
	}
	if len(found.Skills) != 1 || !strings.EqualFold(found.Skills[0].Name, name) {
		return nil, fmt.Errorf("the file is not that of a skill named %s", name)
	}
	return found.Skills[0], nil
}
