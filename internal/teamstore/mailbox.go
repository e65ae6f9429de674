package teamstore

import (
	"fmt"
	"slices"
)

// A mailbox is the mailbox of an agent.
type mailbox struct {
	messages []Message
	bytes    int
	ids      map[string]struct{} // of messages lately put in
	order    []string            // of ids, the oldest first
}

func newBox() *mailbox { return &mailbox{ids: map[string]struct{}{}} }

// put takes a message in, once for each id.
func (b *mailbox) put(m Message, most int) error {
	if _, known := b.ids[m.ID]; known {
		return nil
	}
	if len(b.messages) >= most || b.bytes+len(m.Content) > MaxBoxBytes {
		return fmt.Errorf("%s: %w with %d messages", m.To, ErrBoxFull, len(b.messages))
	}
	b.messages = append(b.messages, m)
	b.bytes += len(m.Content)
	b.ids[m.ID] = struct{}{}
	b.order = append(b.order, m.ID)
	if remembered := 2 * most; len(b.order) > remembered {
		delete(b.ids, b.order[0])
		b.order = slices.Delete(b.order, 0, 1)
	}
	return nil
}

// drop takes the oldest messages out.
func (b *mailbox) drop(n int) {
	for _, m := range b.messages[:n] {
		b.bytes -= len(m.Content)
	}
	b.messages = slices.Delete(b.messages, 0, n)
}
