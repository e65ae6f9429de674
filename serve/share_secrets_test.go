package serve

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sharetext"
)

// A secret that becomes known while somebody watches is not in the pieces that follow, though nobody loads a
// page. It stays hidden when its session is closed.
func TestShareLearnsSecrets(t *testing.T) {
	var known atomic.Value
	known.Store([]string{"first-secret-value"})
	g := gated{make(chan string)}
	s := newSite(t, agent.Agent{Model: g}, func(s *Server) {
		s.Shares = &Shares{Secrets: func() []string { return known.Load().([]string) }}
	})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"hello"}`, 201, nil)
	made, _ := s.share(`{"session":"chat","live":true}`)
	watching := s.watch(made.Path)
	sent := watching.until(t, isNamed("state"))
	pieceOf := func(r received) (p sharedPiece) {
		if r.name == "text" {
			if err := json.Unmarshal([]byte(r.data), &p); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	g.pieces <- "an answer begins\n"
	sent = append(sent, watching.until(t, func(r received) bool { return strings.Contains(pieceOf(r).Text, "begins") })...)
	known.Store([]string{"first-secret-value", "later-secret-value"})
	g.pieces <- "with later-secret-value in it\n"
	sent = append(sent, watching.until(t, func(r received) bool { p := pieceOf(r); return p.Restart && p.Text == "" })...)
	known.Store([]string{})
	g.pieces <- "and later-secret-value again, or first-secret-value\n"
	g.pieces <- ""
	sent = append(sent, watching.until(t, isNamed("changed"))...)
	watching.close()
	end := s.open("chat", 0)
	end.until(t, isType("run_end"))
	end.close()
	_, page, _ := s.strange("GET", made.Path)
	sent = append(sent, received{name: "page", data: page})
	for _, r := range sent {
		if strings.Contains(r.data, "-secret-value") {
			t.Errorf("%s has a secret: %s", r.name, r.data)
		}
	}
	if !strings.Contains(page, "with *** in it") {
		t.Errorf("the page is %s", page)
	}
}

// An answer of which nothing is shown any more is shown again when its model begins it again.
func TestShareRestartsAnswers(t *testing.T) {
	rules := func(secrets ...string) *ruleSet {
		r, err := sharetext.New(sharetext.Options{Secrets: secrets})
		if err != nil {
			t.Fatal(err)
		}
		return &ruleSet{r, len(secrets)}
	}
	f := &feed{rules: rules(), writing: map[string]*sharedAnswer{}}
	shows := func(want string) {
		t.Helper()
		if got := f.writing["k"].text.Shown(); got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
	}
	f.piece(event.TextDelta{Key: "k", Text: "a new-secret-value "})
	shows("a new-secret-value ")
	f.use(rules("new-secret-value"))
	shows("")
	f.use(rules()) // an older set that came late
	f.piece(event.TextDelta{Key: "k", Text: "b new-secret-value "})
	shows("")
	f.piece(event.TextDelta{Key: "k", Text: "c new-secret-value ", Restart: true})
	shows("c *** ")
}

// A share shows neither the server's token, which looks like a word, nor where the user's files are.
func TestSharesHideTheServer(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home-of-a-user")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	s := &Server{Token: strings.Repeat("correct horse battery ", 3), Shares: &Shares{}}
	rules, err := s.shareRules()
	if err != nil {
		t.Fatal(err)
	}
	shown := rules.Text("log in with " + s.Token + " and read " + filepath.Join(home, "notes.txt"))
	if strings.Contains(shown, "horse") || strings.Contains(shown, "home-of-a-user") || !strings.Contains(shown, "log in with") || !strings.Contains(shown, "notes.txt") {
		t.Errorf("shown: %s", shown)
	}
}
