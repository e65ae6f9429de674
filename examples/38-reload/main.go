// Reload is a chat service whose stream survives the reload of a page. The run belongs to the
// service. A page watches the session by server-sent events, and comes back with the number
// of the last fact that it has: a browser's EventSource sends it as Last-Event-ID.
//
// Run it with: go run ./examples/38-reload
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A service has an agent and the runs that it has started.
type service struct {
	agent *agent.Agent
	runs  sync.WaitGroup
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /chats/{id}", s.prompt)
	mux.HandleFunc("GET /chats/{id}/events", s.events)
	return mux
}

// prompt starts a run and does not wait for it. The end of the request does not end the run.
func (s *service) prompt(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, chat := context.WithoutCancel(r.Context()), s.agent.Session(r.PathValue("id"))
	s.runs.Go(func() {
		_, err := chat.Prompt(ctx, string(text))
		if err = errors.Join(err, chat.Close()); err != nil {
			log.Println(err) // the end of the run is on record, so the page learns it
		}
	})
	w.WriteHeader(http.StatusAccepted)
}

// events sends the facts after Last-Event-ID, and then each event while it happens. Only
// facts have ids. The Session here is not the one that runs.
func (s *service) events(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseInt(cmp.Or(r.Header.Get("Last-Event-ID"), "0"), 10, 64) // 0 for a new page
	if err != nil {
		http.Error(w, "bad Last-Event-ID", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w).Flush
	for e, err := range s.agent.Session(r.PathValue("id")).Watch(r.Context(), after) {
		if err != nil {
			return // the page has gone, or the chat was deleted
		}
		if e.IsBookkeeping() {
			continue // the system prompt, prices: not for users
		}
		data, err := json.Marshal(e)
		if err != nil {
			return
		}
		if e.Seq > 0 {
			fmt.Fprintf(w, "id: %d\n", e.Seq)
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil || flush() != nil {
			return
		}
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "chats")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &service{agent: &agent.Agent{
		Model:    model(),
		Sessions: session.Dir(dir),
	}}
	server := httptest.NewServer(s.handler())
	defer server.Close()
	defer s.runs.Wait()

	res, err := http.Post(server.URL+"/chats/1", "text/plain", strings.NewReader("What happens at a reload?"))
	if err != nil {
		return err
	}
	res.Body.Close()

	last, _, err := page(ctx, server.URL, 0, func(e event.Event) bool {
		_, writing := e.Data.(event.TextDelta)
		return writing // reload in the middle of the answer
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "The page reloads while the answer is being written.")
	_, text, err := page(ctx, server.URL, last, func(e event.Event) bool {
		if e.Seq > 0 && e.Seq <= last {
			fmt.Fprintln(out, "fact", e.Seq, "came twice")
		}
		_, end := e.Data.(event.RunEnd)
		return end
	})
	fmt.Fprintln(out, "It has the whole answer:", text)
	return err
}

// page reads events until done, as a page in a browser does. It returns the number of the
// last fact, and the text of the answer as the page shows it.
func page(ctx context.Context, url string, last int64, done func(event.Event) bool) (int64, string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/chats/1/events", nil)
	if err != nil {
		return last, "", err
	}
	req.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return last, "", err
	}
	defer res.Body.Close()
	text := ""
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return last, text, err
		}
		last = max(last, e.Seq)
		switch d := e.Data.(type) {
		case event.TextDelta:
			if d.Restart { // all text so far, because the page joined late or was slow
				text = ""
			}
			text += d.Text
		case event.ModelFailed:
			text = "" // another try begins
		case event.AssistantMessage:
			text = d.Response.Message.Text()
		}
		if done(e) {
			return last, text, nil
		}
	}
	return last, text, errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}
