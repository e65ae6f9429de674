package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// diff shows how the files have changed, in a pager.
func (c *Chat) diff(ctx context.Context, since string) {
	if !c.wait(ctx) {
		return
	}
	changes, err := c.slash.Changes(ctx, since)
	var items []*view.Item
	switch {
	case errors.Is(err, agent.ErrNoCheckpoint) && since == "":
		if items, err = c.edits(ctx); err == nil && len(items) > 0 {
			c.say(ui.DimLine, "  the files were not saved before: /diff shows the changes that calls have told of")
		}
	case err == nil:
		for _, f := range changes {
			items = append(items, c.changeItem(len(items), f))
		}
	}
	switch {
	case err != nil:
		c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
	case len(items) == 0:
		c.say(ui.DimLine, "  no file has changed")
	default:
		c.post(tui.Items{List: items})
	}
}

// changeItem is a changed file as the call that would have made the change.
func (c *Chat) changeItem(n int, f checkpoint.Change) *view.Item {
	added, removed := 0, 0
	for line := range strings.Lines(f.Diff) {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	result := tool.Result{Title: string(f.Kind)}
	switch {
	case f.Diff != "":
		result.Title += fmt.Sprintf(" (+%d −%d)", added, removed)
		if f.DiffCut {
			result.Title += ", the first part of the changes"
		}
		result.Details, _ = json.Marshal(map[string]string{"diff": f.Diff})
	case f.Folder:
		result.Content = llm.Blocks{llm.Text{Text: "a folder"}}
	case f.Kind == checkpoint.Changed:
		result.Content = llm.Blocks{llm.Text{Text: "not a text, or a long one: it has no diff"}}
	}
	path := c.s.ShortPath(filepath.Join(f.Root, filepath.FromSlash(f.Path)))
	return &view.Item{ID: fmt.Sprint(n), Final: true, Data: &view.Call{Use: llm.ToolUse{Name: path}, Result: &event.ToolResult{Result: result}}}
}

// edits are the calls of the session, and of its agents, that have told how they change a file.
func (c *Chat) edits(ctx context.Context) ([]*view.Item, error) {
	if c.s.Store == nil {
		return nil, nil
	}
	var v view.State
	if err := agentview.Read(ctx, c.s.Store, c.s.Session.ID, &v); err != nil {
		return nil, err
	}
	if err := agentview.Fill(ctx, c.s.Store, c.s.Session.ID, &v); err != nil {
		return nil, err
	}
	var out []*view.Item
	var collect func(items []*view.Item)
	collect = func(items []*view.Item) {
		for _, it := range items {
			switch d := it.Data.(type) {
			case *view.Call:
				if d.Diff() != "" && !d.Result.Result.IsError {
					out = append(out, it)
				}
				collect(d.Items)
			case *view.Agent:
				collect(d.View.Items)
			}
		}
	}
	collect(v.Items)
	return out, nil
}

// offerInit asks how AGENTS.md is to be written if it exists.
func (c *Chat) offerInit(ctx context.Context) {
	if exists, err := c.slash.HasInstructions(); err != nil || !exists {
		c.runs.Go(func() { c.command(ctx, "/init") })
		return
	}
	c.post(ui.Choice{Kind: "init", Title: "AGENTS.md exists", Items: []ui.Item{
		{Text: "improve it", Note: "keeps what is right in it", Value: "improve"},
		{Text: "replace it", Note: "from the project alone", Value: "overwrite"}}})
}
