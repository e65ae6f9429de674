package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/trigger"
)

func TestStore(t *testing.T) {
	ctx := t.Context()
	for name, s := range map[string]*trigger.Store{"memory": trigger.Memory(), "file": trigger.File(filepath.Join(t.TempDir(), "t.json"))} {
		want := trigger.Trigger{Name: "n", Prompt: "p", URL: "https://example.com/triggers/x", Schedule: "@daily", Enabled: true}
		made, err := s.Put(ctx, want)
		want.ID = made.ID
		if err != nil || made != want || made.ID == "" {
			t.Fatal(name, made, err)
		}
		before, err := s.Secrets(ctx, made.ID)
		if err != nil || len(before) != 1 || len(before[0]) < 52 {
			t.Fatal(name, len(before), err)
		}
		want.Enabled, want.Prompt = false, "other"
		if _, err := s.Put(ctx, want); err != nil {
			t.Error(name, err)
		}
		if after, err := s.Secrets(ctx, made.ID); err != nil || !slices.Equal(after, before) {
			t.Error(name, "the secret did not stay", err)
		}
		if all, err := s.Triggers(ctx); err != nil || !slices.Equal(all, []trigger.Trigger{want}) {
			t.Error(name, all, err)
		}
		next := trigger.NewSecret()
		if err := s.SetSecrets(ctx, made.ID, next, before[0]); err != nil {
			t.Error(name, err)
		}
		if err := s.SetSecrets(ctx, made.ID); err == nil {
			t.Error(name, "takes a trigger without secrets")
		}
		if after, err := s.Secrets(ctx, made.ID); err != nil || !slices.Equal(after, []string{next, before[0]}) {
			t.Error(name, "got other secrets", err)
		}
		if err := s.Remove(ctx, made.ID); err != nil {
			t.Error(name, err)
		}
		_, put := s.Put(ctx, want)
		_, get := s.Secrets(ctx, made.ID)
		for _, err := range []error{s.Remove(ctx, made.ID), s.SetSecrets(ctx, made.ID, next), put, get} {
			if !errors.Is(err, trigger.ErrUnknown) {
				t.Error(name, err)
			}
		}
	}
}

// A run that is fired here and one that a request starts get the same: the trigger, an id and
// the body.
func TestHandler(t *testing.T) {
	s := trigger.Memory()
	ran := make(chan string, 1)
	hold := make(chan struct{})
	h := &trigger.Handler{Store: s, Parallel: 1, Run: func(_ context.Context, tr trigger.Trigger, run string, body []byte) error {
		ran <- fmt.Sprint(tr.Name, run, string(body))
		<-hold
		return nil
	}}
	defer h.Close()
	defer close(hold)
	server := httptest.NewServer(h)
	defer server.Close()
	tr, err := s.Put(t.Context(), trigger.Trigger{Name: "n", Prompt: "p", Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	run, err := h.Fire(tr, []byte("body"))
	if got := <-ran; err != nil || got != "n"+run+"body" || run == "" {
		t.Error(got, err)
	}
	if _, err := h.Fire(tr, nil); !errors.Is(err, trigger.ErrBusy) {
		t.Error(err)
	}
	target := server.URL + "/triggers/" + tr.ID
	c := &trigger.Client{AllowPrivate: true}
	if _, err := c.Send(t.Context(), target, trigger.NewSecret(), nil); err == nil || !strings.Contains(err.Error(), "401") {
		t.Error(err)
	}
	if _, err := new(trigger.Client).Send(t.Context(), target, trigger.NewSecret(), nil); err == nil || strings.Contains(err.Error(), "401") {
		t.Error("reaches this machine:", err)
	}
	hold <- struct{}{}
	secrets, err := s.Secrets(t.Context(), tr.ID)
	if err != nil {
		t.Fatal(err)
	}
	for busy := true; busy; { // until the first run is off the books
		run, err = c.Send(t.Context(), target, secrets[0], []byte("sent"))
		if busy = err != nil && strings.Contains(err.Error(), "503"); busy {
			time.Sleep(time.Millisecond)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := <-ran; got != "n"+run+"sent" || run == "" {
		t.Error(got)
	}
}
