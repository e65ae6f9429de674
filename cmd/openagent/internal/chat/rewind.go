package chat

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/rewind"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionlist"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/difftext"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
)

// The pickers of a rewind.
const (
	promptPicker = "prompt"
	rewindPicker = "rewind"
)

const (
	maxCompared = 50  // prompts whose changes are shown
	maxAbout    = 400 // lines of changes that the picker has
)

// offerPrompts opens the picker of prompts to go back to, the newest one last. It runs in the
// goroutine of the loop.
func (c *Chat) offerPrompts(ctx context.Context) {
	c.stopChanges()
	ctx, c.stopChanges = context.WithCancel(ctx)
	c.runs.Go(func() {
		if !c.wait(ctx) {
			return
		}
		if c.s.Store == nil || c.s.Session.Result() == nil && !c.s.Existing {
			c.say(ui.WarnLine, "! this session has no prompt to rewind to yet")
			return
		}
		list, err := rewind.ListPrompts(ctx, c.s.Store, c.s.Checkpoints, c.s.Session.ID)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.fail(err)
			return
		case len(list) == 0:
			c.say(ui.WarnLine, "! this session has no prompt to rewind to yet")
			return
		}
		changes := make([]string, len(list))
		c.post(c.prompts(list, changes))
		c.compare(ctx, list, changes)
	})
}

// prompts is the picker of prompts, with what would change at each.
func (c *Chat) prompts(list []rewind.PromptPlace, changes []string) ui.Choice {
	choice := ui.Choice{Kind: promptPicker, Title: "go back to before", First: len(list) - 1}
	now := time.Now()
	for i, p := range list {
		said := changes[i]
		if !p.Kept() {
			said = "files " + p.Files
		}
		title := cmp.Or(terminal.Name(text.Runes(c.h.OneLine(p.Prompt), 200)), "(no text)")
		choice.Items = append(choice.Items, ui.Item{Text: fmt.Sprintf("%*d  %s", len(strconv.Itoa(len(list))), i+1, title),
			Cells: []string{fmt.Sprintf("%-16s", said), sessionlist.When(p.Time, now)}, Value: strconv.FormatInt(p.Fact, 10)})
	}
	return choice
}

// compare finds out what would change if the files went back, from the newest prompt on, and shows
// it.
func (c *Chat) compare(ctx context.Context, list []rewind.PromptPlace, changes []string) {
	name := parts.CheckpointName(c.s.Store, c.s.Session.ID)
	known := map[string]string{"": "no file"}
	for i := len(list) - 1; i >= max(0, len(list)-maxCompared); i-- {
		p := list[i]
		if !p.Kept() {
			continue
		}
		said, ok := known[p.Checkpoint]
		if !ok && c.s.Checkpoints != nil {
			diff, err := c.s.Checkpoints.Changes(ctx, name, "", p.Checkpoint)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				said = changed(diff)
			}
			known[p.Checkpoint] = said
		}
		changes = slices.Clone(changes)
		changes[i] = said
		if i == len(list)-1 || i%8 == 0 || i == len(list)-maxCompared {
			c.post(ui.Renewed{Choice: c.prompts(list, changes)})
		}
	}
}

// changed says in a few words how files change.
func changed(list []checkpoint.Change) string {
	var files []checkpoint.Change
	plus, minus := 0, 0
	for _, f := range list {
		if f.Folder {
			continue
		}
		a, r := difftext.Count(f.Diff)
		files, plus, minus = append(files, f), plus+a, minus+r
	}
	var said string
	switch len(files) {
	case 0:
		return "no file"
	case 1:
		said = text.Runes(path.Base(checkpoint.Shown(files[0].Path)), 20)
	default:
		said = text.Count(len(files), "file")
	}
	if plus > 0 {
		said += fmt.Sprintf(" +%d", plus)
	}
	if minus > 0 {
		said += fmt.Sprintf(" −%d", minus)
	}
	return said
}

// offerRewind shows what going back would change, and asks what is to go back.
func (c *Chat) offerRewind(ctx context.Context, fact string) {
	c.commands.Lock()
	defer c.commands.Unlock()
	var o rewind.Options
	_, err := o.Flags().Parse([]string{"--dry-run", "--diff"})
	if o.To = fact; err == nil {
		err = o.Check()
	}
	if err != nil {
		c.fail(err)
		return
	}
	r := &rewind.Rewinder{Session: c.s.Session, Store: c.s.Store, Checkpoints: c.s.Checkpoints}
	done, err := r.Rewind(ctx, o)
	choice := ui.Choice{Kind: rewindPicker, Title: "what goes back?"}
	talk := ui.Item{Text: "only the conversation", Note: "files stay as they are", Value: fact + " --conversation"}
	switch {
	case err != nil:
		_, why := r.Files(ctx, fact, true)
		choice.Items = []ui.Item{talk}
		choice.About = []ui.Line{{Kind: ui.WarnLine, Text: "   files cannot go back: " + c.h.OneLine(cmp.Or(why, err).Error())}}
		c.post(choice)
		return
	case len(done.Files.Changes) == 0:
		choice.Items = []ui.Item{talk}
	default:
		choice.Items = []ui.Item{{Text: "files and conversation", Value: fact}, {Text: "only the files", Note: "the conversation goes on", Value: fact + " --files"}, talk}
	}
	for _, l := range done.Lines("/rewind") {
		for row := range strings.SplitSeq(strings.TrimRight(l, "\n"), "\n") {
			choice.About = append(choice.About, ui.Line{Kind: diffKind(row), Text: "   " + row})
		}
	}
	if more := len(choice.About) - maxAbout; more > 0 {
		choice.About = append(choice.About[:maxAbout:maxAbout], ui.Line{Kind: ui.DimLine, Text: fmt.Sprintf("   … %d more lines", more)})
	}
	c.post(choice)
}

// diffKind tells the lines of diffs, which are indented, from others.
func diffKind(row string) ui.LineKind {
	line, is := strings.CutPrefix(row, "  ")
	switch {
	case !is || strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "--- "):
	case strings.HasPrefix(line, "+"):
		return ui.AddedLine
	case strings.HasPrefix(line, "-"):
		return ui.RemovedLine
	}
	return ui.DimLine
}

// rewind goes back. The prompt that was taken back is in the input.
func (c *Chat) rewind(ctx context.Context, args string) {
	prompt := ""
	fact, flag, _ := strings.Cut(args, " ")
	if list, err := rewind.ListPrompts(ctx, c.s.Store, c.s.Checkpoints, c.s.Session.ID); err == nil && flag != "--files" {
		for _, p := range list {
			if strconv.FormatInt(p.Fact, 10) == fact {
				prompt = p.Prompt
			}
		}
	}
	c.command(ctx, "/rewind "+args)
	if prompt != "" {
		c.post(ui.Draft{Text: prompt})
	}
}
