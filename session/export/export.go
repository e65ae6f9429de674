// Package export writes sessions for people and other programs: as Markdown, as JSON, and
// as one page of HTML that loads nothing.
//
//	err := export.Markdown(ctx, os.Stdout, store, id, export.Options{})
//
// All of them hold the conversation as it now stands, without rewound parts. Secrets
// become ***. Text of a model, a tool or a web page can neither run anything in the
// result nor make it load anything.
package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/redact"
	"github.com/openagent-go/agent/internal/turns"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

// Options configure an export. The zero value is good.
type Options struct {
	// Secrets are replaced, beside the values of environment variables whose names
	// say that they are secret.
	Secrets []string
}

func (o Options) hide() redact.Values {
	values := slices.Clone(o.Secrets)
	return redact.New(append(values, environ.Secrets()...))
}

// open returns the Info of a session without secrets, its view, and what makes turns of that.
func open(ctx context.Context, s session.Store, id string, o Options) (session.Info, *view.State, *turns.Reader, error) {
	info, err := session.Stat(ctx, s, id)
	if err != nil {
		return info, nil, nil, err
	}
	r := &turns.Reader{Hide: o.hide()}
	for _, text := range []*string{&info.Title, &info.Tag, &info.Prompt, &info.Dir, &info.Branch, &info.Model} {
		*text = r.Line(*text)
	}
	v, err := fold(ctx, s, id)
	return info, v, r, err
}

// heading is the title of an export.
func heading(info session.Info) string { return cmp.Or(info.Title, info.Prompt, info.Session) }

// JSON writes a session as one JSON object:
//
//	{"openagent_export": 1, "session": {…}, "turns": [{"kind": "said", …}, {"kind": "answer", …}, {"kind": "end", …}, …]}
//
// session is a [session.Info]. turns are in the order of the conversation, and each has a
// kind, the number of its fact in seq, and a time:
//
//   - said is a message of the user, or of the program in its place: uuid, delivery (an
//     [event.Delivery]) and content (text, images and documents of [llm.Blocks]).
//   - answer is an answer of the model: uuid, model, content (text and thinking), calls,
//     usage (an [llm.Usage]) and cost_usd, which is null if it is not known.
//   - end is the end of a run: reason (an [event.EndReason]), message, turns, usage,
//     cost_usd, duration_ms, call_count and denied_count. waiting_ms, tools_ms, model_ms and
//     retry_ms say where the time went, see [view.Split].
//
// A call has id, tool, input, decisions and result. A decision has seq, time and the fields of a
// [permission.Decision] that say who made it: behavior, source, by, rule, origin, reason and
// expires. All denials are there, and answers to questions.
// A result has seq, time, title, content, details, is_error, cause (an [event.Cause]) and
// duration_ms; a call without one has none yet. A call of a batch tool has the calls that it
// made. agents are the sub-agents that a call has started, each with session, agent (its name),
// reason, message, usage, cost_usd, duration_ms and the turns of its session. Empty fields may
// be absent.
//
// It fails as reading the session does.
func JSON(ctx context.Context, w io.Writer, s session.Store, id string, o Options) error {
	info, v, r, err := open(ctx, s, id, o)
	if err != nil {
		return exporting(id, err)
	}
	head, err := turns.Encode(info)
	if err != nil {
		return exporting(id, err)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "{\"openagent_export\":1,\"session\":%s,\"turns\":[", head)
	between := "\n"
	for t := range r.Turns(id, v.Items) {
		if _, is := t.(turns.Note); is {
			continue
		}
		line, err := turns.Encode(t)
		if err != nil {
			return exporting(id, err)
		}
		b.WriteString(between)
		b.Write(line)
		between = ",\n"
	}
	b.WriteString("\n]}\n")
	return exporting(id, b.Flush())
}

func exporting(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("exporting session %s: %w", id, err)
}
