package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
)

// A Truster decides which sources of a project and of plugins are trusted: those that the user
// trusted in their current state.
type Truster struct {
	h *cli.IO
	// ask asks the user on the terminal about untrusted sources.
	ask bool
	// tell warns that plugins, agents and skills are left out.
	tell bool
}

// Trusts is the function for [parts.Finder].
func (t *Truster) Trusts(ctx context.Context, s parts.Source) (bool, error) {
	list, err := settings.ReadTrust(t.h)
	if err != nil {
		t.h.Warn("%v", err)
		return false, nil
	}
	if list.Has(s.Kind, s.Path, s.Sum) {
		return true, nil
	}
	if !t.ask {
		return t.find(ctx, s)
	}
	return settings.AskOnce(t.h, s.Kind, s.Path, s.Sum, func() (bool, error) { return t.find(ctx, s) })
}

// find asks the user about an untrusted source, or warns that it is left out.
func (t *Truster) find(ctx context.Context, s parts.Source) (bool, error) {
	switch found := s.Content.(type) {
	case *parts.Plugin:
		return t.plugin(ctx, found)
	case subagent.Found:
		return t.agents(ctx, found)
	case skill.Found:
		return t.skills(ctx, found)
	case *parts.ServerFile:
		return t.servers(ctx, found)
	case coding.FoundEntries:
		return t.entries(ctx, found)
	case customtools.Listing:
		if !t.ask {
			return false, nil // the set of tools warns
		}
		return settings.OfferTools(ctx, t.h, found)
	}
	return false, nil
}

// ofCoder is Trusts for [coding.Options].
func (t *Truster) ofCoder(ctx context.Context, s coding.Source) (bool, error) {
	return t.Trusts(ctx, parts.Source{Kind: string(s.Kind), Path: s.Path, Sum: s.Sum, Content: s.Content})
}

// offer shows a question and records the trust after a yes.
func (t *Truster) offer(ctx context.Context, question, confirm string, trust func() error) (bool, error) {
	if _, err := fmt.Fprint(t.h.Err, question); err != nil {
		return false, err
	}
	yes, err := settings.Confirm(ctx, t.h, confirm)
	if err != nil || !yes {
		return false, err
	}
	return true, trust()
}

const confirmTrust = "Do you trust them, as they are now? [y/N] "

func (t *Truster) plugin(ctx context.Context, p *parts.Plugin) (bool, error) {
	h := t.h
	switch {
	case !p.Acts() || !t.tell && !t.ask:
		return false, nil
	case p.Unlisted != nil:
		h.Warn("the hooks, servers, agents and commands of the plugin %s are left out: %v", p.Dir, p.Unlisted)
		return false, nil
	case !t.ask:
		h.Warn("the hooks, servers, agents and commands of the plugin %s are left out: it is not trusted in its current state; review all of its files, then run openagent trust add %s", p.Dir, text.QuoteShell(p.Given))
		return false, nil
	}
	return t.offer(ctx, fmt.Sprintf("The plugin %s in %s contains the parts below. Any of its files may run:\n%s", h.Visible(p.Name), h.Visible(p.Dir), PluginSummary(h, p, true)),
		"Do you trust all of its files, as they are now? [y/N] ", func() error { return TrustPlugin(ctx, h, p) })
}

func (t *Truster) agents(ctx context.Context, found subagent.Found) (bool, error) {
	h := t.h
	switch {
	case !t.ask && !t.tell:
		return false, nil
	case !t.ask:
		h.Warn("the agents in %s are ignored: they are not trusted in their current state; review them, then run openagent trust add %s", found.Dir, text.QuoteShell(filepath.Dir(filepath.Dir(found.Dir))))
		return false, nil
	}
	return t.offer(ctx, fmt.Sprintf("The folder %s defines agents with their own instructions, tools and possibly commands:\n%s", h.Visible(found.Dir), preview.AgentDocuments(h, found)),
		confirmTrust, func() error { return TrustDefinitions(ctx, h, found) })
}

func (t *Truster) skills(ctx context.Context, found skill.Found) (bool, error) {
	h := t.h
	switch {
	case !t.ask && !t.tell:
		return false, nil
	case !t.ask:
		h.Warn("the skills in %s are left out: they are not trusted in their current state; review them, then run openagent trust add %s", found.Dir, text.QuoteShell(found.Dir))
		return false, nil
	}
	return t.offer(ctx, fmt.Sprintf("The folder %s contains skills, which are instructions that the agent would follow:\n%s", h.Visible(found.Dir), preview.SkillDocuments(h, found)),
		confirmTrust, func() error { return TrustSkills(ctx, h, found) })
}

func (t *Truster) servers(ctx context.Context, f *parts.ServerFile) (bool, error) {
	h := t.h
	if !t.ask {
		h.Warn("the servers of %s are not started: the file is not trusted in its current state; review it, then run openagent trust add %s", f.Place, text.QuoteShell(f.Dir))
		return false, nil
	}
	return t.offer(ctx, fmt.Sprintf("The file %s configures MCP servers, which openagent would start or connect to:\n%s", h.OneLine(f.Place), ServerList(h, f)),
		confirmTrust, func() error { return TrustServers(ctx, h, f) })
}

// entries asks about active entries of the memory that nobody here has accepted.
func (t *Truster) entries(ctx context.Context, found coding.FoundEntries) (bool, error) {
	h := t.h
	switch {
	case !t.ask && !t.tell:
		return false, nil
	case !t.ask:
		h.Warn("the memory in %s has active notes that you have not accepted as they are now, %d of them; they are left out, see openagent memory pending", found.Folder, len(found.Entries))
		return false, nil
	}
	var b strings.Builder
	for _, e := range found.Entries {
		fmt.Fprintf(&b, "  %s: %s\n", e.Kind, h.Visible(e.Title))
		for line := range strings.Lines(e.Text) {
			fmt.Fprintf(&b, "    %s\n", h.Visible(strings.TrimRight(line, "\n")))
		}
	}
	return t.offer(ctx, fmt.Sprintf("The memory in %s has active notes that you have not accepted as they are now; the agent would know them:\n%s", h.Visible(found.Folder), settings.Lookalikes(h, b.String())),
		confirmTrust, func() error {
			return settings.ChangeTrust(ctx, h, func(l trusted.List) {
				for _, e := range found.Entries {
					l.AddEntry(e.File, e.Sum)
				}
			})
		})
}

// NewFinder returns what finds the parts of an agent in a folder, outside of a run. With ask, it
// asks the user on the terminal about untrusted files. With tell, it reports invalid agent and skill
// files.
func NewFinder(h *cli.IO, o *settings.Options, project string, ask, tell bool) *parts.Finder {
	return (&Truster{h, ask, tell}).finder(o, project)
}

func (t *Truster) finder(o *settings.Options, project string) *parts.Finder {
	h := t.h
	f := &parts.Finder{Project: project, Getenv: h.Getenv, Layers: o.Scopes(), Folders: o.Plugins, Trust: t.Trusts, Warn: func(kind string, err error) {
		switch {
		case kind == parts.Tools:
			warnOfTools(h, err)
		case t.tell || kind == parts.Servers:
			h.Warn("%v", err)
		}
	}}
	f.Home, _ = h.Home()
	f.UserHome, _ = os.UserHomeDir()
	return f
}

// FindPlugins finds the trusted plugins.
func FindPlugins(ctx context.Context, f *parts.Finder) error {
	return pluginError(f.FindPlugins(ctx))
}

func pluginError(err error) error {
	var wrong *parts.PluginError
	if errors.As(err, &wrong) {
		return cli.Usagef("--plugin-dir %s: %w; correct the file or leave the plugin out", wrong.Dir, wrong.Err)
	}
	return err
}
