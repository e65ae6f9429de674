package triggerstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/connlimit"
)

// A Payload is the data sent with the start of a trigger. Everyone with the secret can send
// it, so trust it no more than them.
type Payload struct {
	Run  string // id of the run
	Data []byte // the body; a [Client] of this package sends a JSON object
}

const (
	defaultWindow   = 5 * time.Minute
	defaultMaxBody  = 256 << 10
	defaultParallel = 4
	bodyTime        = 30 * time.Second // for reading a body
	prefix          = "/triggers/"
)

// A Handler starts triggers of ours when signed requests ask for them, see the package
// documentation. Mount it so that it gets the paths /triggers/<id>; the signature covers a
// stripped prefix as well. Only one process should serve a trigger, because it alone knows
// which requests it has seen. Requests that were signed before it began are refused.
type Handler struct {
	Store Store
	// Run does the work of a trigger. Its context ends when the handler is closed, not with
	// the request, which is answered before. Its results are logged.
	Run func(ctx context.Context, t Trigger, p Payload) error
	// Hosts are those that requests may be signed for: what their URLs have between
	// "//" and "/", in lower case, without the port if it is the scheme's usual one.
	// They must be given where requests come through a proxy or are sent to a
	// name. None: the address that a connection came to, as an IP address or as
	// localhost.
	Hosts []string
	// Window is how far a request's time may be from ours. 0: 5 minutes.
	Window   time.Duration
	MaxBody  int64        // bytes of a body; 0: 256 KB
	Parallel int          // runs at a time; further starts are refused with 503. 0: 4
	Log      *slog.Logger // nil: no logs

	seen  nonces
	since time.Time // requests from before are refused; the process's start if zero

	mu      sync.Mutex
	ctx     context.Context // of all runs
	cancel  context.CancelFunc
	closed  bool
	count   int
	running sync.WaitGroup
}

// began is when this process began, as far as requests are concerned.
var began = time.Now()

// ErrBusy is matched by the error for a start that would be one run too many.
var ErrBusy = errors.New("too many runs at a time")

// Fire starts a run of t and returns its id, which is p.Run then, without waiting
// for it. The error matches [ErrBusy] if there are too many, and is another after
// Close.
func (h *Handler) Fire(t Trigger, p Payload) (run string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return "", errClosed
	case h.count >= orDefault(h.Parallel, defaultParallel):
		return "", fmt.Errorf("starting the trigger %s: %w", t.ID, ErrBusy)
	}
	if h.ctx == nil {
		h.ctx, h.cancel = context.WithCancel(context.Background())
	}
	p.Run = NewID()
	h.count++
	ctx := h.ctx
	h.running.Go(func() {
		defer func() {
			h.mu.Lock()
			h.count--
			h.mu.Unlock()
		}()
		if err := h.run(ctx, t, p); err != nil {
			h.log().Error("trigger failed", "trigger", t.ID, "run", p.Run, "error", err)
		}
	})
	return p.Run, nil
}

var errClosed = errors.New("starting a trigger: the handler is closed")

func (h *Handler) run(ctx context.Context, t Trigger, p Payload) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return h.Run(ctx, t, p)
}

// Shutdown refuses later starts and waits for the runs. Those that still go on
// when ctx ends are ended, and waited for.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		h.running.Wait()
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
	err := h.Close()
	<-over
	return err
}

// Close ends the runs and waits for them. Later starts are refused.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	if h.cancel != nil {
		h.cancel()
	}
	h.mu.Unlock()
	h.running.Wait()
	return nil
}

func (h *Handler) log() *slog.Logger {
	if h.Log != nil {
		return h.Log
	}
	return slog.New(slog.DiscardHandler)
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutPrefix(r.URL.Path, prefix)
	switch {
	case !ok:
		answer(w, http.StatusNotFound, refusal{"not found"})
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		answer(w, http.StatusMethodNotAllowed, refusal{"POST only"})
		return
	}
	t, body, err := h.admit(w, r, id)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		answer(w, http.StatusRequestEntityTooLarge, refusal{"too large"})
		return
	case errors.Is(err, errRefused):
		answer(w, http.StatusUnauthorized, refusal{"refused"})
		return
	case err != nil:
		h.log().Error("reading a trigger", "error", err)
		answer(w, http.StatusServiceUnavailable, refusal{"not available"})
		return
	}
	run, err := h.Fire(t, Payload{Data: body})
	if err != nil {
		w.Header().Set("Retry-After", "5")
		answer(w, http.StatusServiceUnavailable, refusal{"not available"})
		return
	}
	answer(w, http.StatusAccepted, started{run})
}

var errRefused = errors.New("the trigger refused the request")

// admit returns the trigger that a request may start, and its body. A
// refused request gets the same error after the same work for every reason, so a sender cannot
// find out why it was refused.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request, id string) (Trigger, []byte, error) {
	refused := func() (Trigger, []byte, error) { return Trigger{}, nil, errRefused }
	now := time.Now()
	p, err := readProof(r.Header)
	if err != nil || h.stale(p.at, now) {
		return refused()
	}
	_ = http.NewResponseController(w).SetReadDeadline(now.Add(bodyTime)) // where it can be set
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(orDefault(int(h.MaxBody), defaultMaxBody))))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return Trigger{}, nil, err
	case err != nil:
		return refused()
	}
	target, ok := wireTarget(r)
	if !ok {
		return refused()
	}
	record, err := h.Store.Get(r.Context(), id)
	if errors.Is(err, ErrUnknown) {
		record, err = Record{}, nil
	}
	if err != nil {
		return Trigger{}, nil, err
	}
	m := message{method: r.Method, target: target, body: sha256.Sum256(body)}
	hosts := h.hosts(r)
	if !m.signedFor(hosts, p, record.Secrets) {
		if m.signedFor([]string{r.Host}, p, record.Secrets) {
			h.log().Warn("a request was signed for a host that is not this one", "trigger", id, "host", r.Host, "hosts", hosts)
		}
		return refused()
	}
	if !record.Enabled || record.URL != "" {
		return refused()
	}
	if !h.seen.add(id, p.nonce, p.at.Add(h.window()), now) {
		return refused()
	}
	connlimit.Admit(r.Context())
	return record.Trigger, body, nil
}

func (h *Handler) window() time.Duration {
	if h.Window <= 0 {
		return defaultWindow
	}
	return h.Window
}

// stale reports whether a request's time is too far from now, or from before it
// would be known whether the request was seen.
func (h *Handler) stale(at, now time.Time) bool {
	since := h.since
	if since.IsZero() {
		since = began
	}
	return now.Sub(at).Abs() > h.window() || at.UnixMilli() < since.UnixMilli()
}

// wireTarget returns path and query as they were sent, even if a mux has changed the path.
func wireTarget(r *http.Request) (string, bool) {
	if r.RequestURI == "" { // not from a server
		return r.URL.RequestURI(), true
	}
	u, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return "", false
	}
	return u.RequestURI(), true
}

type (
	refusal struct {
		Error string `json:"error"`
	}
	started struct {
		Run string `json:"run"`
	}
)

func answer(w http.ResponseWriter, status int, v any) {
	data, _ := json.Marshal(v) // a struct of ours
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

func orDefault(n, byDefault int) int {
	if n <= 0 {
		return byDefault
	}
	return n
}
