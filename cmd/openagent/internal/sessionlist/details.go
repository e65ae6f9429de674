package sessionlist

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// details are what a list does not tell about a session.
type details struct {
	facts   int64 // of the session when they were read
	prompts int
	usd     float64
	end     event.EndReason // of the last run; "": none has ended
}

// state is what a session does, in a word.
func (s listed) state() string {
	switch s.info.State {
	case session.StateRunning:
		return "running"
	case session.StateWaiting:
		return "asks"
	case session.StateUnfinished:
		return "stopped"
	}
	if s.more == nil {
		return ""
	}
	switch s.more.end {
	case "":
		return ""
	case event.Completed, event.ToolEnded:
		return "done"
	case event.MaxTurns, event.MaxModelCalls, event.MaxBudget, event.TimedOut, event.MaxTokens:
		return "limit"
	case event.Interrupted, event.HookStopped:
		return "stopped"
	case event.Suspended:
		return "asks"
	}
	return "error"
}

// money is what a session has cost.
func money(d *details) string {
	switch {
	case d.usd > 0 && d.usd < 0.01:
		return "<$0.01"
	case d.usd > 0:
		return fmt.Sprintf("$%.2f", d.usd)
	}
	return ""
}

const (
	maxRead   = 64 << 20               // bytes of a session that is read for its details
	showEvery = 200 * time.Millisecond // while they are read
)

// Details reads the details of the listed sessions in the background, and shows them.
func (l *List) Details(ctx context.Context) {
	l.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, l.stop = context.WithCancel(ctx)
	list := append([]listed(nil), l.listed...)
	l.reading.Go(func() {
		shown, changed := time.Now(), false
		for _, s := range list {
			if s.more != nil || s.info.Size > maxRead {
				continue
			}
			d, err := readOne(ctx, s)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				continue // the session is damaged; opening it says so
			}
			l.set(s.value(), d)
			if changed = true; time.Since(shown) > showEvery {
				l.Tell(ui.Renewed{Choice: l.choice("")})
				shown, changed = time.Now(), false
			}
		}
		if changed {
			l.Tell(ui.Renewed{Choice: l.choice("")})
		}
	})
}

// set keeps the details of a session.
func (l *List) set(value string, d *details) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range l.listed {
		if s.value() == value {
			l.listed[i].more = d
		}
	}
}

// readOne counts the runs of a session.
func readOne(ctx context.Context, s listed) (*details, error) {
	d := &details{facts: s.info.Facts}
	end := event.Type(event.RunEnd{})
	ends, err := session.Last(ctx, s.store, s.info.Session, int(s.info.Facts), func(typ string) bool { return typ == end })
	if err != nil {
		return nil, err
	}
	for i, e := range ends {
		run, ok := e.Data.(event.RunEnd)
		if !ok {
			continue
		}
		d.end = run.Reason
		if run.Reason == event.Suspended && i+1 < len(ends) {
			continue // the next one is about all of the run
		}
		d.prompts++
		if run.CostUSD != nil {
			d.usd += *run.CostUSD
		}
	}
	if s.info.State == session.StateRunning || s.info.State == session.StateUnfinished && d.end != event.Suspended {
		d.prompts++ // its end is not there yet
	}
	return d, nil
}

const (
	lookBack   = 200 // facts in which the preview looks
	lookAt     = 3   // prompts that it shows
	lookLength = 1500
)

// examine shows the last prompts of a session and its last answer.
func (l *List) examine(ctx context.Context, value string) {
	s, err := l.find(value)
	var lines []ui.Line
	if err == nil {
		lines, err = l.preview(ctx, s)
	}
	if err != nil {
		lines = []ui.Line{{Kind: ui.WarnLine, Text: l.H.OneLine(err.Error())}}
	}
	l.Tell(ui.Examined{Value: value, Lines: lines})
}

func (l *List) preview(ctx context.Context, s listed) ([]ui.Line, error) {
	prompt, answer := event.Type(event.UserMessage{}), event.Type(event.AssistantMessage{})
	facts, err := session.Last(ctx, s.store, s.info.Session, lookBack, func(typ string) bool { return typ == prompt || typ == answer })
	if err != nil {
		return nil, err
	}
	var prompts []string
	said := ""
	for _, e := range facts {
		switch d := e.Data.(type) {
		case event.UserMessage:
			if d.Delivery == fact.AsPrompt {
				prompts, said = append(prompts, d.Message.Text()), ""
			}
		case event.AssistantMessage:
			said = cmp.Or(d.Response.Message.Text(), said)
		}
	}
	var lines []ui.Line
	for _, p := range prompts[max(0, len(prompts)-lookAt):] {
		lines = append(lines, ui.Line{Kind: ui.DimLine, Text: "❯ " + text.Runes(l.H.OneLine(p), 300)})
	}
	if said = strings.TrimSpace(said); said == "" {
		return append(lines, ui.Line{Kind: ui.DimLine, Text: "(no answer yet)"}), nil
	}
	lines = append(lines, ui.Line{})
	for line := range strings.SplitSeq(text.Runes(said, lookLength), "\n") {
		lines = append(lines, ui.Line{Text: l.H.Visible(line)})
	}
	return lines, nil
}
