package engine

import (
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
)

// outputRate is how many tokens of output a second a call is taken to have written at most,
// including thinking that is not streamed. docs/cost.md states it.
const outputRate = 250

// A reservation is the most that a call can cost, from its start until its outcome is
// known.
type reservation struct {
	model string
	usd   float64
	since time.Time // of the latest fact before the start
}

// after returns how long ago the reservation was made, 0 if that is not known.
func (r reservation) after(now time.Time) time.Duration {
	if r.since.IsZero() {
		return 0
	}
	return now.Sub(r.since)
}

// broken returns the most that a call can have cost that broke off after it took so long:
// its input, and as much output as can be written in that time. It is the whole reservation
// if the time is not known. input is an estimate of the request's tokens.
func (b budget) broken(model string, input int, took time.Duration, reserved float64) float64 {
	info := b.settings.info(model)
	if took <= 0 || info.Price == nil {
		return reserved
	}
	input += input / 4 // of the estimate's error
	in, out := b.prices(*info.Price, input)
	return min(reserved, amount(in*float64(input)+out*outputRate*took.Seconds()))
}

// brokeOff counts the cost of a failed call: the estimated usage, and what it can have cost
// beyond that.
func (s *State) brokeOff(f *event.ModelFailed, reserved float64) {
	s.run.spend(f.Model, f.Usage, f.CostUSD)
	if f.CostUSD != nil {
		s.run.lose(max(0, s.budget().broken(f.Model, f.Usage.Input, f.Duration, reserved)-*f.CostUSD))
	}
}

// An OpenCall is a model call whose outcome is not on record.
type OpenCall struct {
	Key      string
	InputUSD float64   // cost of its input, by estimate
	Since    time.Time // of the latest fact before the start
	input    int       // tokens, estimated
	reserved reservation
}

func (s *State) openCall(key string, r reservation, input int) OpenCall {
	c := OpenCall{Key: key, Since: r.since, input: input, reserved: r}
	if p := s.settings.info(r.model).Price; p != nil {
		c.InputUSD = p.Cost(llm.Usage{Input: input})
	}
	return c
}

// OpenCalls returns the model calls that have started and have no outcome. After a crash
// they are those that broke off.
func (s *State) OpenCalls() []OpenCall {
	var open []OpenCall
	if m := &s.model; m.calling {
		open = append(open, s.openCall(m.key(), m.reserved, s.context.size.tokens(m.reserved.model)))
	}
	if c := s.context.compact; c != nil && c.calling {
		open = append(open, s.openCall(s.compactor().key(c.doing), c.reserved, s.context.size.tokens(c.reserved.model)))
	}
	for i := range s.calls.list {
		if c := &s.calls.list[i]; c.phase == digesting && c.started {
			open = append(open, s.openCall(c.key("digest"), c.reserved, c.tokens))
		}
	}
	return open
}

// settleBroken counts the calls that were under way when the program died. Their outcome is
// not known: each can have cost what fits the time until now.
func (s *State) settleBroken(now time.Time) {
	b := s.budget()
	lost := 0.0
	for _, c := range s.OpenCalls() {
		lost = plus(lost, b.broken(c.reserved.model, c.input, c.reserved.after(now), c.reserved.usd))
	}
	s.run.lose(lost)
}
