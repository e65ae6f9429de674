package chat

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/live"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// watched shows in the status line whether others can see the session.
func (c *Chat) watched(s live.Status) { c.post(ui.Watched{Word: s.Word, Viewers: s.Viewers}) }
