package executor

import (
	"errors"

	"github.com/openagent-go/agent/llm"
)

// A cause is the error behind a failure, which facts record only as words.
type cause struct {
	words string // as the fact has them
	err   error
}

// Cause returns the error of the latest failed model call or hook that was recorded in these
// words. It is nil if there is none, as after a resume in another process.
func (x *Executor) Cause(words string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.modelCause.err != nil && x.modelCause.words == words {
		return x.modelCause.err
	}
	if x.hookCause.words == words {
		return x.hookCause.err
	}
	return nil
}

// keepModelCause keeps the error of a model. Its class is the recorded one, and an
// [*llm.APIError] can be found in it in any case.
func (x *Executor) keepModelCause(words string, class llm.Class, err error) {
	own := llm.APIError{Class: class, Message: words, RetryAfter: -1}
	api := (*llm.APIError)(nil)
	if errors.As(err, &api) {
		own = *api
	}
	if api == nil || api.Class != class {
		own.Class, own.Err = class, err
		err = &own
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.modelCause = cause{words, err}
}

// keepHookCause keeps the errors of hooks. words are why the run ends, or may end.
func (x *Executor) keepHookCause(words string, errs []error) {
	if len(errs) == 0 || words == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hookCause = cause{words, errors.Join(errs...)}
}
