package quota

import (
	"context"
	"crypto/rand"
	"iter"
	"time"

	"github.com/openagent-go/agent/internal/metering"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/llm"
)

// A metered model counts its calls in an account.
type metered struct {
	llm.Model
	account *Account
}

// Info returns the facts about the model.
func (m *metered) Info() llm.Info { return llm.InfoOf(m.Model) }

// CheckQuota implements [metering.Model].
func (m *metered) CheckQuota(ctx context.Context, session string) error {
	if err := m.account.check(m.Model); err != nil {
		return err
	}
	if inner, ok := m.Model.(metering.Model); ok {
		return inner.CheckQuota(ctx, session)
	}
	return nil
}

// SettleBroken implements [metering.Model].
func (m *metered) SettleBroken(ctx context.Context, c *metering.Call, usd float64, since time.Time) error {
	err := m.account.settleBroken(ctx, m.account.book(since), c.ID, usd)
	if inner, ok := m.Model.(metering.Model); ok && err == nil {
		return inner.SettleBroken(ctx, c, usd, since)
	}
	return err
}

// Stream reserves the cost of the call, makes it, and settles it.
func (m *metered) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		c, err := m.reserve(ctx, req)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		defer c.settle(ctx)
		for d, err := range m.Model.Stream(ctx, c.request) {
			c.take(d, err)
			if !yield(d, err) {
				return
			}
		}
	}
}

// A callCost is the cost of a call that is being made.
type callCost struct {
	account  *Account
	book, id string
	price    llm.Price
	request  *llm.Request
	input    int // estimated
	streamed int // bytes
	began    bool
	free     bool     // it costs nothing, so nothing is reserved
	usd      *float64 // nil until the end
}

const (
	minOutput     = 256 // tokens that a call must be able to write, beside thinking
	defaultOutput = 16384
)

// refuse returns the error of a call that is not made.
func refuse(class llm.Class, err error) error {
	return &llm.APIError{Class: class, Message: err.Error(), RetryAfter: -1, Err: err}
}

// reserve reserves the worst case of a call. The request's output is lowered to what fits.
func (m *metered) reserve(ctx context.Context, req *llm.Request) (*callCost, error) {
	a := m.account
	if err := a.check(m.Model); err != nil {
		return nil, refuse(llm.Invalid, err)
	}
	info := llm.InfoOf(m.Model)
	c := &callCost{account: a, price: *info.Price, input: req.Estimate()}
	if call := metering.CallOf(ctx); call != nil {
		c.id = call.ID
	} else {
		c.id = rand.Text()
	}
	output := req.MaxTokens
	if output <= 0 {
		output = defaultOutput
	}
	if info.MaxOutput > 0 {
		output = min(output, info.MaxOutput)
	}
	in, out := c.prices(modelcall.KeepsHour(req.Cache))
	if c.free = in <= 0 && out <= 0; c.free {
		c.request = req
		return c, nil
	}
	input := in * float64(c.input+c.input/3+100) // with the estimate's error
	least := min(output, minOutput+req.Thinking.Tokens())
	r, b, err := a.reserve(ctx, Reservation{ID: c.id, Least: input + out*float64(least), Most: input + out*float64(output),
		Limit: a.USD, Expected: c.price.Cost(llm.Usage{Input: c.input})})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, refuse(llm.Network, err)
	}
	c.book = r.Book
	a.warn(ctx, c.book, b.Spent)
	if b.Granted <= 0 {
		return nil, refuse(llm.OverQuota, &ExhaustedError{Key: a.Key, NeededUSD: r.Least, SpentUSD: b.Spent, ReservedUSD: b.Reserved, LimitUSD: a.USD})
	}
	own := *req
	if out > 0 {
		own.MaxTokens = max(least, min(output, int((b.Granted-input)/out)))
	}
	c.request = &own
	return c, nil
}

// prices returns the dearest prices of a token.
func (c *callCost) prices(hour bool) (in, out float64) {
	p := c.price
	write := p.CacheWrite
	if hour {
		write = p.WriteHour()
	}
	in, out = max(p.Input, write, p.CacheRead)/1e6, p.Output/1e6
	if p.LongAt > 0 && c.input+c.input/3 > p.LongAt {
		in, out = in*p.LongInput, out*p.LongOutput
	}
	return in, out
}

// take takes in a piece of the answer.
func (c *callCost) take(d llm.Delta, err error) {
	if err != nil {
		return
	}
	c.began = true
	c.streamed += len(d.Text)
	if d.Done != nil {
		usd := c.price.Cost(llm.Usage{}.Add(d.Done.Usage)) // a host cannot report fewer tokens than none
		c.usd = &usd
	}
}

// settle replaces the reservation by the cost. A call that broke off costs its input and
// what was streamed, by estimate.
func (c *callCost) settle(ctx context.Context) {
	if c.free {
		return
	}
	usd := 0.0
	switch {
	case c.usd != nil:
		usd = *c.usd
	case c.began:
		usd = c.price.Cost(llm.Usage{Input: c.input, Output: (c.streamed + 3) / 4})
	}
	c.account.settle(ctx, c.book, c.id, usd)
}
