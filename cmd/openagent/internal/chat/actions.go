package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/attach"
	"github.com/openagent-go/agent/cmd/openagent/internal/slash"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
)

// commandList describes the commands and skills for the menu.
func (c *Chat) commandList() []ui.CommandInfo {
	var out []ui.CommandInfo
	for _, i := range slash.List {
		if i.Name == "resume" && !c.plain {
			i.Help += ", or go to another session"
		}
		out = append(out, ui.CommandInfo{Name: i.Name, Hint: i.Args, Help: i.Help})
	}
	out = append(out, c.ownCommands()...)
	for _, k := range c.s.Commands() {
		if k.Name != "compact" {
			out = append(out, ui.CommandInfo{Name: k.Name, Hint: k.Hint, Help: text.Runes(text.OneLine(k.Description), 120)})
		}
	}
	return out
}

// followServers adds the prompts of MCP servers to the commands as soon as they are known.
func (c *Chat) followServers(ctx context.Context) {
	if c.s.Servers == nil {
		return
	}
	known := 0
	for more := true; more; {
		more = slices.ContainsFunc(c.s.ServerStatus(), func(s mcp.Status) bool { return s.State == mcpnames.Pending })
		if n := len(c.s.Servers.Prompts()); n != known {
			known = n
			c.post(ui.Commands{List: c.commandList()})
		}
		select {
		case <-ctx.Done():
			return
		case <-c.over:
			return
		case <-time.After(serverPause):
		}
	}
}

// serverPause is the time between two looks at servers that connect.
const serverPause = 200 * time.Millisecond

// cycleMode changes the permission mode: ask, accept edits, plan.
func (c *Chat) cycleMode(ctx context.Context) {
	order := []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan}
	now, _ := c.slash.Mode.Load().(permission.Mode)
	next := order[0]
	for i, m := range order {
		if m == now {
			next = order[(i+1)%len(order)]
		}
	}
	c.command(ctx, "/mode "+string(next))
	c.post(c.facts(next))
}

// shell runs a command line of the person under the rules of the session. The model sees the
// output with the next prompt.
func (c *Chat) shell(ctx context.Context, line string) {
	if !c.wait(ctx) {
		return
	}
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return
	}
	a := c.s.Session.Agent()
	a.CanUseTool = c.decide
	if mode, ok := c.slash.Mode.Load().(permission.Mode); ok {
		a.Permissions.Mode = mode
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.runs.Go(func() { // leaving ends the command
		select {
		case <-c.over:
			cancel()
		case <-ctx.Done():
		}
	})
	result, err := a.CallTool(ctx, "Bash", input)
	if err != nil {
		c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
		return
	}
	output := result.Text()
	c.say(ui.DimLine, "! "+c.h.OneLine(line))
	c.say(ui.PlainLine, strings.TrimRight(output, "\n"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blocks = append(c.blocks, llm.Text{Text: fmt.Sprintf("The user ran a command in the working folder:\n$ %s\n%s", line, output)})
}

// loadImage looks at an image that was pasted.
func (c *Chat) loadImage(path, pasted string) {
	blocks, err := attach.File(path)
	if err != nil {
		c.post(ui.Image{Path: path, Pasted: pasted, Failed: true})
		return
	}
	note := ""
	for _, b := range blocks {
		if img, ok := b.(llm.Image); ok {
			note = cmp.Or(sizeOf(img.Data), filepath.Base(path))
		}
	}
	c.post(ui.Image{Path: path, Pasted: pasted, Note: note, Failed: note == ""})
}
