package main

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// serve shows the page until ctx ends.
func (s *shop) serve(ctx context.Context, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b := &board{changed: make(chan struct{})}
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	for _, desk := range desks {
		watching.Go(func() { s.watch(ctx, b, desk) })
	}
	watching.Go(func() { s.watchWorkers(ctx, b) })
	server := &http.Server{Handler: s.routes(ctx, b, listener.Addr().String()), ReadHeaderTimeout: 5 * time.Second}
	watching.Go(func() {
		<-ctx.Done()
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		_ = server.Shutdown(closing)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// routes returns the handler of the page at an address. Pages of other sites get nothing from it.
func (s *shop) routes(ctx context.Context, b *board, address string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		nonce := rand.Text()
		w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; script-src 'nonce-"+nonce+"'; style-src 'nonce-"+nonce+"'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = page.Execute(w, map[string]any{"Nonce": nonce, "Workers": names, "Desks": desks})
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { b.stream(ctx, w, r) })
	mux.HandleFunc("POST /order", func(w http.ResponseWriter, r *http.Request) {
		desk := r.FormValue("desk")
		if !slices.Contains(desks, desk) {
			http.Error(w, "unknown desk; send desk="+strings.Join(desks, " or "), http.StatusBadRequest)
			return
		}
		if err := s.order(r.Context(), desk); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	mux.HandleFunc("POST /kill", func(w http.ResponseWriter, r *http.Request) {
		if !s.workers.kill(r.FormValue("worker")) {
			http.Error(w, "no such worker runs; send worker="+strings.Join(names, " or "), http.StatusConflict)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	local := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != address { // a foreign name that leads to this machine
			http.Error(w, "open http://"+address, http.StatusForbidden)
			return
		}
		local.ServeHTTP(w, r)
	})
}

// A note is a line that the page shows.
type note struct {
	Desk    string                `json:"desk,omitempty"`    // under which it is shown
	Text    string                `json:"text,omitempty"`    // of the line
	Workers map[string]workerNote `json:"workers,omitempty"` // instead: the workers have changed
}

// A workerNote says what a worker does.
type workerNote struct {
	PID   int      `json:"pid"` // 0: it was killed
	Desks []string `json:"desks"`
}

// A board holds what all pages show.
type board struct {
	mu      sync.Mutex
	notes   []json.RawMessage
	changed chan struct{} // closed with the next note
}

func (b *board) add(n note) {
	text, err := json.Marshal(n)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, text)
	close(b.changed)
	b.changed = make(chan struct{})
}

// after returns the notes from number n on, and what is closed when there are more.
func (b *board) after(n int) ([]json.RawMessage, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes[min(max(n, 0), len(b.notes)):], b.changed
}

// stream sends all notes, and those to come, as server-sent events.
func (b *board) stream(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	n, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	for {
		notes, changed := b.after(n)
		for _, text := range notes {
			n++
			if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", n, text); err != nil {
				return
			}
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// watch puts the facts of a desk on the board.
func (s *shop) watch(ctx context.Context, b *board, desk string) {
	for e, err := range s.client.Events(ctx, desk, 0) {
		if err != nil {
			return // ctx has ended
		}
		for _, text := range lines(e.Data) {
			b.add(note{Desk: desk, Text: text})
		}
	}
}

// lines returns what the page says about an event.
func lines(d event.Data) (out []string) {
	switch d := d.(type) {
	case event.UserMessage:
		out = append(out, "» "+d.Message.Text())
	case event.AssistantMessage:
		for _, use := range d.Response.Message.ToolUses() {
			out = append(out, use.Name+" …")
		}
		if text := d.Response.Message.Text(); text != "" {
			out = append(out, "« "+text)
		}
	case event.ToolResult:
		if d.Cause != "" {
			return []string{"   the model is told: the outcome is not known"}
		}
		out = append(out, "   "+d.Result.Text())
	case event.Resumed:
		out = append(out, "↻ the run continues")
	}
	return out
}

// lookEvery is how often the front looks who works.
const lookEvery = 200 * time.Millisecond

// watchWorkers puts on the board which worker has which desk.
func (s *shop) watchWorkers(ctx context.Context, b *board) {
	shown := ""
	before := map[string]string{}
	for ticks := time.Tick(lookEvery); ; {
		if at, err := s.atWork(ctx); err == nil {
			workers := map[string]workerNote{}
			for _, name := range names {
				n := workerNote{PID: s.workers.pid(name), Desks: []string{}}
				for _, desk := range desks {
					if at[desk] == name {
						n.Desks = append(n.Desks, desk)
					}
				}
				workers[name] = n
			}
			for _, desk := range desks {
				if now := at[desk]; now != "" && now != before[desk] {
					b.add(note{Desk: desk, Text: "→ " + now + " has this desk"})
				}
				before[desk] = cmp.Or(at[desk], before[desk])
			}
			if now := fmt.Sprint(workers); now != shown {
				shown = now
				b.add(note{Workers: workers})
			}
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}
