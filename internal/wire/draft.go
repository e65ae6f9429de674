package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/openagent-go/agent/internal/eventstream"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/internal/sse"
	"github.com/openagent-go/agent/llm"
)

// A Decoder reads one reply of one provider into its embedded Draft.
type Decoder interface {
	// Whole reads a reply that is one JSON value.
	Whole(body []byte) error
	// Event reads the data of one event of a stream.
	Event(data []byte) error
	// Cut returns the error for a stream that ended before the draft was done: with io.EOF
	// or with a read error.
	Cut(err error) error

	draft() *Draft
}

// A Draft is an unfinished response: the reply that it is read from, and its content so
// far. Its deltas reach a reader only if [Stream] has set it up.
type Draft struct {
	*Reply
	Res llm.Response

	yield func(llm.Delta, error) bool
	done  bool

	size, sent int // kept bytes, and number of blocks
}

func (d *Draft) draft() *Draft { return d }

// errLeft says that the caller wants no more deltas.
var errLeft = errors.New("left")

// Send passes a delta to the caller. If it returns an error, the decoder must return that
// error.
func (d *Draft) Send(delta llm.Delta) error {
	if err := d.measure(delta); err != nil {
		return err
	}
	if d.yield != nil && !d.yield(delta, nil) {
		return errLeft
	}
	return nil
}

// measure returns an error for a delta that makes the answer too large.
func (d *Draft) measure(delta llm.Delta) error {
	if delta.Block != nil {
		d.sent++
	}
	if delta.Done != nil {
		content := d.Res.Message.Content
		return d.sized(modelcall.CheckSize(modelcall.Size(content), len(content)))
	}
	return d.Hold(len(delta.Text))
}

// Hold counts bytes that a decoder keeps. Send counts those of deltas.
func (d *Draft) Hold(bytes int) error {
	d.size += bytes
	return d.sized(modelcall.CheckSize(d.size, d.sent))
}

func (d *Draft) sized(err error) error {
	if e, ok := errors.AsType[*llm.APIError](err); ok {
		return d.Error(e.Class, e.Message)
	}
	return nil
}

// Done passes the response to the caller. The rest of the reply is ignored.
func (d *Draft) Done() error {
	d.done = true
	return d.Send(llm.Delta{Done: &d.Res})
}

// Stream implements [llm.Model]: prepare makes the exchange of a request and the decoder of
// its reply, each time that the stream is read.
func Stream(ctx context.Context, l pace.Limiter, model string, req *llm.Request, prepare func() (*Exchange, Decoder, error)) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		err := ctx.Err()
		if err == nil {
			err = stream(ctx, l, model, req, prepare, yield)
		}
		if err != nil && err != errLeft {
			yield(llm.Delta{}, err)
		}
	}
}

func stream(ctx context.Context, l pace.Limiter, model string, req *llm.Request, prepare func() (*Exchange, Decoder, error), yield func(llm.Delta, error) bool) error {
	x, to, err := prepare()
	if err != nil {
		return err
	}
	x.bound(l, model, req)
	reply, err := x.Do(ctx)
	if err != nil {
		return err
	}
	d := to.draft()
	d.Reply, d.Res, d.yield = reply, llm.Response{Model: model, RequestID: reply.RequestID}, yield
	defer func() { reply.spent(d.Res.Usage); reply.Close(d.done) }()
	if err := reply.Page(); err != nil {
		return err
	}
	if req.Blocking || reply.First() == '{' {
		return d.whole(to)
	}
	return d.stream(to)
}

func (d *Draft) whole(to Decoder) error {
	body, err := io.ReadAll(io.LimitReader(d, maxWhole+1))
	if err != nil {
		return d.Fail(err, llm.Truncated)
	}
	if len(body) > maxWhole {
		return d.Error(llmconst.Oversized, fmt.Sprintf("the reply is larger than %d MB", maxWhole>>20))
	}
	if !json.Valid(body) {
		return d.Error(llm.Truncated, "the reply is not complete JSON")
	}
	return to.Whole(body)
}

// stream reads events: server-sent events, or the same in Amazon's binary frames.
func (d *Draft) stream(to Decoder) error {
	if d.media() == eventstream.MediaType {
		return d.each(to, eventstream.NewReader(d, 0).Chunk)
	}
	events := sse.NewReader(d, 0)
	return d.each(to, func() ([]byte, error) {
		e, err := events.Next()
		return e.Data, err
	})
}

// each reads events until the decoder is done. A stream that ends earlier is truncated,
// even if the connection reports no error.
func (d *Draft) each(to Decoder, next func() ([]byte, error)) error {
	for !d.done {
		data, err := next()
		if err != nil {
			return d.broken(err, to)
		}
		if err := to.Event(data); err != nil {
			return err
		}
	}
	return nil
}

// broken returns the error for a stream that cannot be read any further.
func (d *Draft) broken(err error, to Decoder) error {
	var (
		line      *sse.TooLongError
		frame     *eventstream.TooLongError
		exception *eventstream.Exception
	)
	switch {
	case errors.As(err, &exception):
		return d.Complaint(Complaint{Kind: exception.Type, Message: exception.Message})
	case errors.As(err, &line) || errors.As(err, &frame) || errors.Is(err, eventstream.ErrCorrupt):
		return d.Protocol("%v", err)
	}
	return to.Cut(err)
}

// Protocol returns the error for a reply that violates the API's documentation.
func (r *Reply) Protocol(format string, args ...any) error {
	return r.Error(llmconst.Protocol, fmt.Sprintf(format, args...))
}

// Truncated returns the error for a stream that ended with err before its last event.
func (r *Reply) Truncated(err error, last string) error {
	if err == io.EOF {
		err = errors.New("the stream ended without " + last)
	}
	return r.Fail(err, llm.Truncated)
}
