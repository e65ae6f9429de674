package trigger

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/openagent-go/agent/internal/triggerstore"
)

// A Handler starts triggers of ours when signed requests ask for them, see the package
// documentation. Mount it so that it gets the paths /triggers/<id>; the signature covers a
// stripped prefix as well. Only one process should serve a trigger, because it alone knows
// which requests it has seen. Requests that were signed before it began are refused, as are
// those whose time is more than 5 minutes from ours, and bodies of more than 256 KB.
//
// Set the fields before the first call.
type Handler struct {
	Store *Store // where the triggers are
	// Run does the work of a trigger. Its context ends when the handler is closed, not with
	// the request, which is answered before. run is the id of the run, body that of the
	// request. A [Client] sends what its caller gives it. Everyone with the secret can send a
	// body, so trust it no more than them. Errors are logged.
	Run func(ctx context.Context, t Trigger, run string, body []byte) error
	// Hosts are those that requests may be signed for: what their URLs have between
	// "//" and "/", in lower case, without the port if it is the scheme's usual one.
	// They must be given where requests come through a proxy or are sent to a
	// name. None: the address that a connection came to, as an IP address or as
	// localhost.
	Hosts    []string
	Parallel int          // runs at a time; further starts are refused with 503. 0: 4
	Log      *slog.Logger // nil: no logs

	once  sync.Once
	inner triggerstore.Handler
}

func (h *Handler) handler() *triggerstore.Handler {
	h.once.Do(func() {
		h.inner.Store, h.inner.Hosts, h.inner.Parallel, h.inner.Log = h.Store.records(), h.Hosts, h.Parallel, h.Log
		h.inner.Run = func(ctx context.Context, t triggerstore.Trigger, p triggerstore.Payload) error {
			return h.Run(ctx, triggerOf(t), p.Run, p.Data)
		}
	})
	return &h.inner
}

// ErrBusy is matched by the error for a start that would be one run too many.
var ErrBusy = triggerstore.ErrBusy

// Fire starts a run of t and returns its id, without waiting for it. The error matches
// [ErrBusy] if there are too many, and is another after Close.
func (h *Handler) Fire(t Trigger, body []byte) (run string, err error) {
	return h.handler().Fire(t.inner(), triggerstore.Payload{Data: body})
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.handler().ServeHTTP(w, r) }

// Shutdown refuses later starts and waits for the runs. Those that still go on
// when ctx ends are ended, and waited for.
func (h *Handler) Shutdown(ctx context.Context) error { return h.handler().Shutdown(ctx) }

// Close ends the runs and waits for them. Later starts are refused.
func (h *Handler) Close() error { return h.handler().Close() }
