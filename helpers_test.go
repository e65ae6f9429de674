package agent_test

import (
	"sync"

	"github.com/openagent-go/agent/tool"
)

// noticing is a tool with news.
type noticing struct {
	tool.Tool
	mu   sync.Mutex
	sent bool
	news []string
}

func (n *noticing) notice(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.sent {
		n.news = append(n.news, text)
	}
	n.sent = true
}

func (n *noticing) Notices(string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.news
	n.news = nil
	return out
}
