package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// overdueQueue is an engine that knows which sessions have no worker.
type overdueQueue struct{ *durabletest.Queue }

func (overdueQueue) Overdue(context.Context) (int, time.Duration, error) { return 2, time.Minute, nil }

// TestNoWorker says things to sessions while no worker is there, and then one comes.
func TestNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, queue := &durabletest.Memory{}, &durabletest.Queue{}
		backend := db.Connect()
		store := backend.Store("", nil)
		s := &Server{Token: testToken, UserRequests: 1e6, Sessions: func(string) session.Store { return store }, Hosts: []string{"localhost"}, Workers: &durable.Client{Backend: backend, Engine: overdueQueue{queue}}}
		defer s.Shutdown(t.Context())
		ask := func(method, path, body string, status int) string {
			t.Helper()
			r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+testToken)
			if strings.HasPrefix(path, "/v1") && body != "" {
				r.Header.Set("Content-Type", "application/json")
			} else {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != status {
				t.Fatalf("%s %s: %d, want %d: %s", method, path, w.Code, status, w.Body)
			}
			return w.Body.String()
		}
		is := func(got, want string) {
			t.Helper()
			if strings.TrimSpace(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		is(ask("POST", "/v1/sessions", `{"session":"s","id":"m1","text":"hello","title":"T"}`, 202), `{"session":"s","id":"m1","state":"waiting"}`)
		is(ask("POST", "/v1/sessions", `{"session":"s","id":"m1","text":"hello"}`, 202), `{"session":"s","id":"m1","state":"waiting"}`)
		is(ask("POST", "/v1/sessions/s/messages", `{"id":"m2","text":"more","model":"nobody has it"}`, 202), `{"session":"s","id":"m2","state":"waiting"}`)
		is(ask("GET", "/v1/sessions/s/messages/m1", "", 200), `{"session":"s","id":"m1","state":"waiting"}`)
		if page := ask("GET", "/s/s", "", 404); !strings.Contains(page, "the first message of this session waits for a worker") {
			t.Error(page)
		}
		if page := ask("POST", "/sessions", "text=by+form", 202); !strings.Contains(page, "no worker has taken it yet") {
			t.Error(page)
		}
		if figures := ask("GET", "/metrics", "", 200); !strings.Contains(figures, "openagent_sessions_without_worker 2\n") || !strings.Contains(figures, "_worker_seconds 60\n") {
			t.Error(figures)
		}
		if page := ask("GET", "/doctor", "", 200); !strings.Contains(page, "2 sessions without a worker, for up to 1m0s") {
			t.Error(page)
		}

		work := func() (end func()) {
			ctx, stop := context.WithCancel(context.Background())
			w := &durable.Worker{Backend: db.Connect(), Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
				return durable.Hosted{Agent: &agent.Agent{Model: llmtest.Script(llmtest.Say("Hi."))}}, nil
			}}
			ended := make(chan struct{})
			go func() { defer close(ended); queue.Run(ctx, context.Background(), w) }()
			return func() { stop(); <-ended }
		}
		end := work()
		time.Sleep(time.Minute)
		end()
		var state messageState
		if err := json.Unmarshal([]byte(ask("GET", "/v1/sessions/s/messages/m1", "", 200)), &state); err != nil || state.State != "recorded" || state.Fact == 0 {
			t.Errorf("%+v, %v", state, err)
		}
		if err := json.Unmarshal([]byte(ask("GET", "/v1/sessions/s/messages/m2", "", 200)), &state); err != nil || state.State != "rejected" || !strings.Contains(state.Reason, "nobody has it") {
			t.Errorf("%+v, %v", state, err)
		}
		ask("GET", "/v1/sessions/s/messages/m3", "", 404)
		ask("POST", "/v1/sessions/s/messages", `{"id":"m2","text":"more","model":"nobody has it"}`, 409) // also who sends it again learns of it
		is(ask("POST", "/v1/sessions", `{"session":"s","id":"m1","text":"hello"}`, 201), `{"session":"s","id":"m1","known":true}`)

		var info sessionInfo
		if err := json.Unmarshal([]byte(ask("GET", "/v1/sessions/s", "", 200)), &info); err != nil || info.Title != "T" {
			t.Errorf("%+v, %v", info, err)
		}
		is(ask("PATCH", "/v1/sessions/s", `{"title":"U","tag":"t","mode":"plan"}`, 202), `{"ok":true,"state":"waiting"}`)
		ask("POST", "/s/s/mode", "mode=default", 303)
		if page := ask("GET", "/s/s", "", 200); !strings.Contains(page, "4 messages and changes wait for a worker") {
			t.Error(page)
		}
	})
}

// TestEach: what waits for a worker does not keep the rest from being said.
func TestEach(t *testing.T) {
	said := 0
	wait, fail := func() error { said++; return errWaiting }, func() error { return session.ErrBusy }
	if err := each(wait, wait); err != errWaiting || said != 2 {
		t.Error(said, err)
	}
	if err := each(wait, fail, wait); fmt.Sprint(err) != fmt.Sprint(session.ErrBusy) || said != 3 {
		t.Error(said, err)
	}
}

// TestMessageOfAnother: what a user has said to a session that no worker has made yet is nobody else's matter.
func TestMessageOfAnother(t *testing.T) {
	backend := (&durabletest.Memory{}).Connect()
	root := backend.Store("", nil)
	s := &Server{Workers: &durable.Client{Backend: backend, Engine: &durabletest.Queue{}}, Sessions: func(string) session.Store { return root },
		User: func(*http.Request) (string, error) { return "", nil }}
	if _, err := s.live(place{"ada", "new"}).post(t.Context(), "m", durable.Prompt{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	for user, sees := range map[string]bool{"ada": true, "eve": false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetPathValue("id", "new")
		r.SetPathValue("message", "m")
		out, err := getMessage(s, &call{r: r, user: user})
		if (err == nil) != sees {
			t.Errorf("%s: %v, %v", user, out, err)
		}
		if waits, err := s.live(place{user, "new"}).waits(t.Context(), ""); err != nil || (waits != "") != sees {
			t.Errorf("%s: %q, %v", user, waits, err)
		}
	}
}
