package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// countTime is the time limit of a count. A failed count can be replaced by an estimate.
const countTime = 30 * time.Second

// Counting asks a provider's end point to count tokens. If a host turns out to have no such
// end point, it is not asked again. A host shows this by its status, or by a refusal before
// its first count. The zero Counting is ready to use.
type Counting struct {
	counted atomic.Bool
	missing atomic.Pointer[llm.APIError]
}

// Ask sends the exchange that prepare makes and returns the number under member in the
// answer. If the host has no such end point, the error matches [errors.ErrUnsupported].
func (c *Counting) Ask(ctx context.Context, member string, prepare func() (*Exchange, error)) (int, error) {
	if e := c.missing.Load(); e != nil {
		return 0, e
	}
	x, err := prepare()
	if err != nil {
		return 0, err
	}
	if x.Total <= 0 || x.Total > countTime {
		x.Total = countTime
	}
	n, err := x.count(ctx, member)
	var api *llm.APIError
	switch {
	case err == nil:
		c.counted.Store(true)
	case errors.As(err, &api) && c.lacks(api):
		e := *api
		e.Err = errors.ErrUnsupported
		c.missing.Store(&e)
		return 0, &e
	}
	return n, err
}

// lacks reports whether an answer says that tokens are not counted there.
func (c *Counting) lacks(e *llm.APIError) bool {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity:
		return !c.counted.Load() && e.Class != llm.TooLong && e.Class != llm.Auth
	}
	return false
}

func (x *Exchange) count(ctx context.Context, member string) (int, error) {
	reply, err := x.Do(ctx)
	if err != nil {
		return 0, err
	}
	complete := false
	defer func() { reply.Close(complete) }()
	if err := reply.Page(); err != nil {
		return 0, err
	}
	data, err := io.ReadAll(io.LimitReader(reply, maxErrorBody))
	if err != nil {
		return 0, reply.Fail(err, llm.Truncated)
	}
	complete = len(data) < maxErrorBody
	var answer map[string]json.RawMessage
	var n Count
	if json.Unmarshal(data, &answer) != nil || json.Unmarshal(answer[member], &n) != nil || n == 0 {
		return 0, reply.Error(llmconst.Protocol, "the count of tokens is not what the API promises")
	}
	return int(n), nil
}
