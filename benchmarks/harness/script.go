package harness

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// A Script is what the model of a run says: it calls the tool Turns times, once
// in an answer, and then ends with [Final]. Each answer takes Delay.
type Script struct {
	Turns int
	Delay time.Duration
}

// What scripts are about.
const (
	Prompt   = "Double all numbers."
	Tool     = "double"
	ToolText = "Doubles a number."
	Final    = "All numbers are doubled."
)

// Names are the names of an agent's ten tools, of which scripts call the first.
var Names = [10]string{Tool, "tool1", "tool2", "tool3", "tool4", "tool5", "tool6", "tool7", "tool8", "tool9"}

// A Use is a call of the tool.
type Use struct{ ID, Input string }

const maxTurns = 1000

// uses are made beforehand, so that a script costs nothing.
var uses = func() []Use {
	out := make([]Use, maxTurns)
	for i := range out {
		out[i] = Use{ID: fmt.Sprintf("call_%d", i), Input: `{"n":` + strconv.Itoa(i) + `}`}
	}
	return out
}()

// Next is the model's answer to a history of so many messages, the prompt
// included: the call to make, or nil for Final. A history of any other length
// than prompt, call, result, call, result … is an error.
func (s Script) Next(ctx context.Context, messages int) (*Use, error) {
	turn := messages / 2
	if messages < 1 || messages%2 == 0 || turn > s.Turns || s.Turns > maxTurns {
		return nil, fmt.Errorf("a history of %d messages in a run of %d turns", messages, s.Turns)
	}
	if s.Delay > 0 {
		t := time.NewTimer(s.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if turn == s.Turns {
		return nil, nil
	}
	return &uses[turn], nil
}

var calls atomic.Int64

// Double is the work of the tool.
func Double(n int) int {
	calls.Add(1)
	return 2 * n
}

// taken returns how often Double was called since it was last asked.
func taken() int { return int(calls.Swap(0)) }
