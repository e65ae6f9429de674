// Chat-service is a chat service for many users, made with package serve. Each user has sessions and
// a daily budget of their own. A message that is sent twice runs once. A stream survives the reload of
// its page, and a run survives the restart of the service.
//
// Run it with: go run ./examples/40-chat-service
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/quota"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A service has the users' sessions and budgets in a folder.
type service struct {
	dir   string
	model llm.Model
	serve.Server

	mu      sync.Mutex
	budgets map[string]*quota.Account // by user
}

// users are those who may log in.
var users = []string{"ada", "bob"}

// open returns the service of a folder, and continues the runs that an earlier one has left.
func open(ctx context.Context, dir string, m llm.Model) (*service, error) {
	s := &service{dir: dir, model: m, budgets: map[string]*quota.Account{}}
	s.User, s.Sessions, s.Agent = login, s.sessions, s.agent
	for _, user := range users {
		if _, err := s.Resume(ctx, user); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// login returns who sends a request. Here the browser says it; check your own cookie instead.
func login(r *http.Request) (string, error) {
	for _, user := range users {
		if r.Header.Get("X-User") == user {
			return user, nil
		}
	}
	return "", errors.New("not logged in")
}

// sessions returns the store of a user.
func (s *service) sessions(user string) session.Store {
	return session.Dir(filepath.Join(s.dir, "sessions", user))
}

// agent returns the agent of a user, who may spend 2 USD a day.
func (s *service) agent(_ context.Context, at serve.Place) (*agent.Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budgets[at.User] == nil {
		s.budgets[at.User] = &quota.Account{Store: quota.Dir(filepath.Join(s.dir, "budgets")), Key: "user/" + at.User, Period: quota.Day, USD: 2}
	}
	return &agent.Agent{Model: s.model, Quota: s.budgets[at.User], System: "You answer in a chat."}, nil
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "chats")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m := model()
	first, err := open(ctx, dir, m)
	if err != nil {
		return err
	}
	page := &browser{user: "ada", server: httptest.NewServer(first)}
	const hello = `{"session":"chat","id":"m1","text":"What happens at a restart?"}`
	for range 2 { // the answer to the first request might be lost
		said, err := page.send("/v1/sessions", hello)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "sent:", said)
	}
	bob := &browser{user: "bob", server: page.server}
	said, err := bob.send("/v1/sessions/chat/messages", `{"text":"Let me in."}`)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "bob:", said)

	if err := page.watch(ctx, func(e event.Event) bool { _, writes := e.Data.(event.TextDelta); return writes }); err != nil {
		return err
	}
	fmt.Fprintln(out, "The service restarts while the answer is being written.")
	grace, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := first.Shutdown(grace); err != nil {
		return err
	}
	page.server.Close()

	second, err := open(ctx, dir, m)
	if err != nil {
		return err
	}
	page.server = httptest.NewServer(second)
	if err := page.watch(ctx, func(e event.Event) bool { _, end := e.Data.(event.RunEnd); return end }); err != nil {
		return err
	}
	fmt.Fprintln(out, "The page has:", page.text)
	err = second.Shutdown(grace)
	page.server.Close()
	return err
}

// A browser shows the session "chat" of a user.
type browser struct {
	user   string
	server *httptest.Server
	last   int64 // the last fact that it has
	text   string
}

func (b *browser) request(ctx context.Context, method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-User", b.user)
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", strconv.FormatInt(b.last, 10)) // as EventSource does
	}
	return http.DefaultClient.Do(r)
}

// send makes a request and returns the answer in short.
func (b *browser) send(path, body string) (string, error) {
	res, err := b.request(context.Background(), http.MethodPost, path, body)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var answer struct {
		ID    string
		Known bool
		Error struct{ Code string }
	}
	err = json.NewDecoder(res.Body).Decode(&answer)
	return strings.TrimSpace(fmt.Sprintf("%s, known: %v %s", res.Status, answer.Known, answer.Error.Code)), err
}

// watch reads the stream until done.
func (b *browser) watch(ctx context.Context, done func(event.Event) bool) error {
	res, err := b.request(ctx, http.MethodGet, "/v1/sessions/chat/events", "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines, name := bufio.NewScanner(res.Body), ""
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = n
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || name != "fact" && name != "signal" {
			continue
		}
		var e event.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return err
		}
		if e.Seq > 0 && e.Seq <= b.last {
			return fmt.Errorf("fact %d came twice", e.Seq)
		}
		b.last = max(b.last, e.Seq)
		if d, ok := e.Data.(event.AssistantMessage); ok {
			b.text = d.Response.Message.Text()
		}
		if done(e) {
			return nil
		}
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}
