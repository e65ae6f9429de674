package quota

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/internal/quotawarning"
	"github.com/openagent-go/agent/llm"
)

// An Account limits the cost of all model calls that are made in its name. Before a call its
// worst case is reserved. The cost replaces it at the end of the call. A call that does not
// fit is not made, and its prompt ends as max_budget with an error that matches
// [ErrExhausted]. Do not copy an Account, or change it once it is in use.
type Account struct {
	Store Store
	Key   string // who pays: a user, a tenant
	// Period names the period of a moment, such as [Day]. Each period begins with nothing
	// spent. Nil: there is only one.
	Period func(now time.Time) string
	USD    float64 // the limit of a period; must be more than 0
	// WarnAt is the share of USD from which on a warning comes, once in a period and
	// process; 0: 0.8; negative: never.
	WarnAt float64
	// Expiry is how long a reservation holds if its process dies. After that the cost of the
	// call is settled by an estimate: that of its input. 0: 15 minutes.
	Expiry time.Duration

	mu     sync.Mutex
	warned string // the last book that a warning came about
}

// Balance returns what was spent and is reserved in the present period.
func (a *Account) Balance(ctx context.Context) (Balance, error) {
	return a.Store.Balance(ctx, a.book(time.Now()))
}

func (a *Account) book(now time.Time) string {
	if a.Period == nil {
		return a.Key
	}
	return a.Key + "@" + a.Period(now)
}

// Meter returns the model with its calls counted. [agent.Agent].Quota does this for you.
func (a *Account) Meter(m llm.Model) llm.Model { return &metered{m, a} }

// Accounts are several accounts, such as those of a user and of a tenant. Each call must fit
// all of them.
type Accounts []*Account

// Meter returns the model with its calls counted in each account.
func (as Accounts) Meter(m llm.Model) llm.Model {
	for _, a := range as {
		m = a.Meter(m)
	}
	return m
}

type metered struct {
	llm.Model
	account *Account
}

// Info returns the facts about the model.
func (m *metered) Info() llm.Info { return llm.InfoOf(m.Model) }

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
	usd      *float64 // nil until the end
}

const (
	minOutput     = 256 // tokens that a call must be able to write, beside thinking
	defaultOutput = 16384
)

// reserve reserves the worst case of a call. The request's output is lowered to what fits.
func (m *metered) reserve(ctx context.Context, req *llm.Request) (*callCost, error) {
	a, now, info := m.account, time.Now(), llm.InfoOf(m.Model)
	refuse := func(class llm.Class, err error) (*callCost, error) {
		return nil, &llm.APIError{Class: class, Message: err.Error(), RetryAfter: -1, Err: err}
	}
	if a.USD <= 0 || a.Store == nil || info.Price == nil {
		return refuse(llm.OverQuota, fmt.Errorf("the quota of %s cannot be kept: it has no limit or store, or the price of %s is not known", a.Key, m.Name()))
	}
	c := &callCost{account: a, book: a.book(now), id: rand.Text(), price: *info.Price, input: req.Estimate()}
	output := req.MaxTokens
	if output <= 0 {
		output = defaultOutput
	}
	if info.MaxOutput > 0 {
		output = min(output, info.MaxOutput)
	}
	in, out := c.prices(modelcall.KeepsHour(req.Cache))
	input := in * float64(c.input+c.input/3+100) // with the estimate's error
	least := min(output, minOutput+req.Thinking.Tokens())
	expiry := a.Expiry
	if expiry <= 0 {
		expiry = 15 * time.Minute
	}
	b, err := a.Store.Reserve(ctx, Reservation{Book: c.book, ID: c.id, Least: input + out*float64(least), Most: input + out*float64(output),
		Limit: a.USD, Expires: now.Add(expiry), Expected: c.price.Cost(llm.Usage{Input: c.input})})
	if err != nil {
		return refuse(llm.Network, fmt.Errorf("reserving in the quota of %s: %w", a.Key, err))
	}
	a.warn(ctx, c.book, b.Spent)
	if b.Granted <= 0 {
		return refuse(llm.OverQuota, fmt.Errorf("%w: %s has $%.4g of $%.4g left", ErrExhausted, a.Key, max(0, a.USD-b.Spent-b.Reserved), a.USD))
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
		usd := c.price.Cost(d.Done.Usage)
		c.usd = &usd
	}
}

// settleTime is how long settling may take.
const settleTime = 5 * time.Second

// settle replaces the reservation by the cost. A call that broke off costs its input and
// what was streamed, by estimate. If the store fails, the reservation expires.
func (c *callCost) settle(ctx context.Context) {
	usd := 0.0
	switch {
	case c.usd != nil:
		usd = *c.usd
	case c.began:
		usd = c.price.Cost(llm.Usage{Input: c.input, Output: (c.streamed + 3) / 4})
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), settleTime, errors.New("the store of quotas did not answer"))
	defer cancel()
	_ = c.account.Store.Settle(ctx, c.book, c.id, usd)
}

// warn tells the run, once in a period, that much is spent.
func (a *Account) warn(ctx context.Context, book string, spent float64) {
	at := a.WarnAt
	if at == 0 {
		at = 0.8
	}
	tell, ok := ctx.Value(quotawarning.Listener{}).(func(quotawarning.Warning))
	if at < 0 || spent < at*a.USD || !ok {
		return
	}
	a.mu.Lock()
	first := a.warned != book
	a.warned = book
	a.mu.Unlock()
	if first {
		tell(quotawarning.Warning{Key: a.Key, SpentUSD: spent, LimitUSD: a.USD})
	}
}
