package attached

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
)

// offerPrompts opens the picker of prompts to go back to, the newest first.
func (v *View) offerPrompts(ctx context.Context) error {
	var all []event.Event
	for e, err := range v.store.Read(ctx, v.id, 0) {
		if err != nil {
			return err
		}
		all = append(all, e)
	}
	choice := ui.Choice{Kind: "prompt", Title: "go back to before"}
	for _, e := range prompts(all) {
		said := e.Data.(event.UserMessage).Message.Text()
		choice.Items = append(choice.Items, ui.Item{Text: text.Runes(v.h.OneLine(said), 200), Note: e.Time.Local().Format("2 Jan 15:04"), Value: strconv.FormatInt(e.Seq, 10)})
	}
	if len(choice.Items) == 0 {
		return errors.New("this session has no prompt to rewind to yet")
	}
	v.post(choice)
	return nil
}

// prompts returns the prompts that count, the newest first: those that a rewind took away do not.
// Facts that the agent keeps for itself are missing in all.
func prompts(all []event.Event) (out []event.Event) {
	next := int64(math.MaxInt64)
	for _, e := range slices.Backward(all) {
		if e.Seq > next {
			continue // it was taken away
		}
		next = e.Prev
		if d, ok := e.Data.(event.UserMessage); ok && d.Delivery == fact.AsPrompt {
			out = append(out, e)
		}
	}
	return out
}

// maxChanges is how many files the picker lists.
const maxChanges = 8

// offerRewind shows which files going back would change, and asks what is to go back.
func (v *View) offerRewind(ctx context.Context, fact string) error {
	at, err := v.prompt(ctx, fact)
	if err != nil {
		return err
	}
	choice := ui.Choice{Kind: "rewind", Title: "what goes back?"}
	offer := func(said, what string) {
		choice.Items = append(choice.Items, ui.Item{Text: said, Value: fact + " " + what})
	}
	files, err := v.c.Rewind(ctx, v.id, at.Prev, "both", true)
	var refused *remote.Error
	switch {
	case errors.As(err, &refused) && strings.HasPrefix(refused.Code, "no_checkpoint"):
		choice.About = []ui.Line{{Kind: ui.DimLine, Text: "   " + v.h.OneLine(refused.Message)}}
	case err != nil:
		return err
	default:
		offer("files and conversation", "both")
		offer("only the files", "files")
	}
	offer("only the conversation", "conversation")
	for i, f := range files {
		if i == maxChanges {
			choice.About = append(choice.About, ui.Line{Kind: ui.DimLine, Text: fmt.Sprintf("   … %d more files", len(files)-i)})
			break
		}
		choice.About = append(choice.About, ui.Line{Kind: ui.DimLine, Text: "   " + v.h.OneLine(f.Kind+" "+f.Path)})
	}
	v.post(choice)
	return nil
}

// prompt returns the fact of a prompt.
func (v *View) prompt(ctx context.Context, fact string) (event.Event, error) {
	seq, err := strconv.ParseInt(fact, 10, 64)
	if err != nil {
		return event.Event{}, err
	}
	for e, err := range v.store.Read(ctx, v.id, seq-1) {
		if err != nil {
			return event.Event{}, err
		}
		if _, ok := e.Data.(event.UserMessage); ok && e.Seq == seq {
			return e, nil
		}
		break
	}
	return event.Event{}, errors.New("this prompt is not there any more")
}

// rewind goes back. A prompt that was taken back comes into the input.
func (v *View) rewind(ctx context.Context, value string) error {
	fact, what, _ := strings.Cut(value, " ")
	at, err := v.prompt(ctx, fact)
	if err != nil {
		return err
	}
	files, err := v.c.Rewind(ctx, v.id, at.Prev, what, false)
	if err != nil {
		return err
	}
	if what != "conversation" {
		v.say(ui.DimLine, "  went back: "+text.Count(len(files), "file"))
	}
	if what != "files" {
		v.say(ui.DimLine, "  the conversation continues from before this prompt")
		v.post(ui.Draft{Text: at.Data.(event.UserMessage).Message.Text()})
	}
	return nil
}
