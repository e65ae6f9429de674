package teamstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

// A MessageType is the purpose of a message.
type MessageType string

const (
	TextMessage          MessageType = "text"
	ShutdownRequest      MessageType = "shutdown_request"
	ShutdownResponse     MessageType = "shutdown_response"
	PlanApprovalResponse MessageType = "plan_approval_response"
)

// MessageTypes lists every MessageType.
var MessageTypes = []MessageType{TextMessage, ShutdownRequest, ShutdownResponse, PlanApprovalResponse}

// Everyone as the recipient of a message is all members of the sender's team but
// the sender.
const Everyone = "*"

// A Message goes from one agent to another.
type Message struct {
	// ID tells copies of a message apart from new ones: a mailbox takes a message of
	// an id once. A sender that may have to send again chooses it; "" is replaced.
	ID      string      `json:"id"`
	From    string      `json:"from"`
	To      string      `json:"to"` // in a mailbox the name of its owner, even in a message to everyone
	Content string      `json:"content"`
	Time    time.Time   `json:"time"`
	Type    MessageType `json:"type"` // "" is [TextMessage]
}

// Limits of mail.
const (
	MaxMessage   = 64_000    // bytes of a message's content
	MaxMessageID = 200       // bytes
	MaxBox       = 1000      // messages that wait in a mailbox, unless the store says otherwise
	MaxBoxBytes  = 4_000_000 // of their contents
)

// Errors of [Mail]: how a message bounces.
var (
	ErrUnreachable = errors.New("cannot be reached")
	ErrBoxFull     = errors.New("the mailbox is full")
)

// Mail keeps the mailboxes of each space. It may be shared by several programs.
type Mail interface {
	// Send puts a message into the mailbox of a member of the sender's active team, or of
	// all of them ([Everyone]), and returns the recipients it has reached. The error names
	// those that it has not reached, with [ErrUnreachable] or [ErrBoxFull], and the ones
	// that you can reach. A message to everyone is still delivered to the rest. Time is
	// set.
	Send(ctx context.Context, space string, m Message) (reached []string, err error)
	// Take hands all messages in an agent's mailbox, oldest first, to keep. It removes them
	// when keep returns nil: each message is read once. If keep fails or the program dies
	// the messages stay, so a message that was kept and not yet removed comes again, with
	// the same id. Takes of one mailbox follow one another. keep is not called for an empty
	// mailbox; its error is returned.
	Take(ctx context.Context, space, agent string, keep func([]Message) error) error
}

// check completes a message and returns its first mistake.
func (m *Message) check() error {
	if m.Type == "" {
		m.Type = TextMessage
	}
	if _, err := ParseMessageType(string(m.Type)); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(m.Content) == "":
		return fmt.Errorf("%w message: it is empty", ErrInvalid)
	case len(m.Content) > MaxMessage:
		return fmt.Errorf("%w: the message has %d bytes, at most %d are delivered; put it into a file and send the path", ErrLimit, len(m.Content), MaxMessage)
	case !utf8.ValidString(m.Content):
		return fmt.Errorf("%w message: it is not UTF-8", ErrInvalid)
	case len(m.ID) > MaxMessageID:
		return fmt.Errorf("%w: the id of a message has %d bytes, at most %d", ErrLimit, len(m.ID), MaxMessageID)
	case !utf8.ValidString(m.ID):
		return fmt.Errorf("%w message: its id is not UTF-8", ErrInvalid)
	}
	return CheckName(m.From)
}

// ParseMessageType reads the type of a message; "" is [TextMessage].
func ParseMessageType(s string) (MessageType, error) {
	if s == "" {
		return TextMessage, nil
	}
	for _, t := range MessageTypes {
		if MessageType(s) == t {
			return t, nil
		}
	}
	return "", fmt.Errorf("%w: unknown type of message %q, want text, shutdown_request, shutdown_response or plan_approval_response", ErrInvalid, text.Bytes(s, maxShown))
}
