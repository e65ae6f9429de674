package serve

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// loadTurns is the number of answers of a run of the load test.
const loadTurns = 5

// loaded is an agent whose runs have loadTurns answers. They wait for a start.
func loaded(store session.Store, start <-chan struct{}) *agent.Agent {
	return &agent.Agent{
		Model: &llmtest.Model{Rule: func(_ *llmtest.Request, n int) llmtest.Step {
			<-start
			if (n+1)%loadTurns == 0 {
				return llmtest.Say(strings.Repeat("done ", 100))
			}
			return llmtest.Call(llmtest.Use("", "look", map[string]int{"n": n}))
		}},
		Tools: []tool.Tool{tool.New(tool.Spec{Name: "look", Description: "Returns rows.", ReadOnly: true}, func(_ context.Context, _ tool.Call, in struct {
			N int `json:"n"`
		}) (*tool.Result, error) {
			return tool.Text(strings.Repeat(fmt.Sprintf("row %d ", in.N), 100)), nil
		})},
		Permissions: permission.Policy{Mode: permission.Bypass},
		Sessions:    store,
	}
}

// sizeOf returns a size of the load test: a variable of the environment sets a larger one.
func sizeOf(t *testing.T, name string, otherwise int) int {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return otherwise
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Many sessions run at a time while many viewers watch: each viewer gets each fact of the journal,
// once, in order. Sessions that are closed leave nothing in memory.
func TestLoad(t *testing.T) {
	sessions, viewers := sizeOf(t, "SERVE_LOAD_SESSIONS", 50), sizeOf(t, "SERVE_LOAD_VIEWERS", 20)
	store := session.Dir(filepath.Join(t.TempDir(), "sessions"))
	var start chan struct{} // of a round
	s := newSite(t, agent.Agent{Sessions: store}, func(s *Server) {
		s.MaxSessions, s.MaxStreams = sessions, viewers
		s.Agent = func(context.Context, Place) (*agent.Agent, error) { return loaded(store, start), nil }
	})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: viewers}}
	var sizes []int
	for round := range 3 {
		start = make(chan struct{})
		facts, took, high := s.load(client, round, sessions, viewers, start)
		client.CloseIdleConnections()
		s.closeSessions()
		sizes = append(sizes, heap())
		t.Logf("round %d: %d sessions, %d viewers, %d facts in %v (%.0f a second), heap %.1f MB while they ran, %.1f MB after",
			round+1, sessions, viewers, facts, took.Round(time.Millisecond), float64(facts)/took.Seconds(), float64(high)/1e6, float64(sizes[round])/1e6)
	}
	// The first round fills pools and tables, which do not grow with sessions.
	if more, most := sizes[2]-sizes[0], sessions<<10+1<<20; more > most {
		t.Errorf("two rounds of %d sessions have left %d bytes, at most %d are right; after each round: %v", sessions, more, most, sizes)
	}
}

// load runs a prompt in each session while viewers watch: each of them some of the sessions, one after
// the other. It returns the number of facts that they got, the time of the runs, and the heap before the end.
func (s *site) load(client *http.Client, round, sessions, viewers int, start chan struct{}) (facts int, took time.Duration, high int) {
	s.t.Helper()
	var (
		total          atomic.Int64
		watching, done sync.WaitGroup
	)
	watching.Add(viewers)
	for v := range viewers {
		done.Go(func() {
			ready := sync.OnceFunc(watching.Done)
			defer ready()
			for i := v; i < sessions; i += viewers {
				status, body, err := s.send(client, s.request("POST", "/v1/sessions", fmt.Sprintf(`{"session":"load-%d-%d","text":"go"}`, round, i)))
				if err != nil || status != http.StatusCreated {
					s.t.Errorf("session %d: %d %s %v", i, status, body, err)
					return
				}
			}
			for i := v; i < sessions; i += viewers {
				id := fmt.Sprintf("load-%d-%d", round, i)
				seqs, err := s.watchRun(client, id, ready)
				if want := s.journal(id); err != nil || !slices.Equal(seqs, want) || len(seqs) < 2*loadTurns {
					s.t.Errorf("%s: a viewer got the facts %v, the journal has %v; %v", id, seqs, want, err)
				}
				total.Add(int64(len(seqs)))
			}
		})
	}
	watching.Wait()
	high = heap() // all sessions are open, and all viewers watch
	began := time.Now()
	close(start)
	done.Wait()
	return int(total.Load()), time.Since(began), high
}

// send sends a request and reads its answer.
func (s *site) send(client *http.Client, r *http.Request) (status int, body string, err error) {
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// watchRun reads the stream of a session until its run has ended, and returns the numbers of the facts.
func (s *site) watchRun(client *http.Client, id string, watching func()) (seqs []int64, err error) {
	r := s.request("GET", "/v1/sessions/"+id+"/events", "")
	r.Header.Set("Accept", "text/event-stream")
	for {
		res, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusTooManyRequests { // the server has not seen yet that the last stream is closed
			res.Body.Close()
			time.Sleep(time.Millisecond)
			continue
		}
		if res.StatusCode != http.StatusOK {
			res.Body.Close()
			return nil, fmt.Errorf("status %d", res.StatusCode)
		}
		stream := (&reader{res: res}).init()
		defer stream.close()
		for {
			e, err := stream.next()
			if err != nil {
				return seqs, err
			}
			switch e.name {
			case "state":
				watching()
			case "fact":
				seqs = append(seqs, e.event.Seq)
				if _, over := e.event.Data.(event.RunEnd); over {
					return seqs, nil
				}
			}
		}
	}
}

// closeSessions closes all sessions as if they had done nothing for a while.
func (s *site) closeSessions() {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		s.server.mu.Lock()
		all := slices.Collect(maps.Values(s.server.lives))
		s.server.mu.Unlock()
		if len(all) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d sessions are still in use", len(all))
		}
		for closeOne(all) {
		}
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int {
	runtime.GC()
	runtime.GC() // pools need two
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A server can have more or fewer streams than usual.
func TestMaxStreams(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, func(s *Server) { s.MaxStreams = maxStreams + 1 })
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	for range maxStreams + 1 {
		defer s.open("chat", 0).close()
	}
	r := s.request("GET", "/v1/sessions/chat/events", "")
	r.Header.Set("Accept", "text/event-stream")
	if status, body, _ := s.answer(r); status != 429 || !strings.Contains(body, "too_many_streams") {
		t.Errorf("one stream more: %d %s", status, body)
	}
}
