//go:build unix

package helper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm"
)

func runs(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "x")
}

func TestHelper(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	h := &Helper{Command: `printf x >> '` + file + `'; echo "  key-$(wc -c < '` + file + `' | tr -d ' ')  "`}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if key, err := h.Key(t.Context()); err != nil || key != "key-1" {
				t.Errorf("%q, %v", key, err)
			}
		})
	}
	wg.Wait()
	if n := runs(t, file); n != 1 {
		t.Errorf("ran %d times", n)
	}
	if key, err := h.Key(llm.WithRefusedKey(t.Context(), "key-1")); err != nil || key != "key-2" {
		t.Errorf("after a refusal: %q, %v", key, err)
	}
	if key, err := h.Key(llm.WithRefusedKey(t.Context(), "key-1")); err != nil || key != "key-2" { // another caller has got the new one
		t.Errorf("after a refusal of the one before: %q, %v", key, err)
	}
	h = &Helper{Command: h.Command, TTL: time.Millisecond}
	for i := range 2 {
		if key, err := h.Key(t.Context()); err != nil || key != []string{"key-3", "key-4"}[i] {
			t.Errorf("with a short life: %q, %v", key, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestWatchFailure(t *testing.T) {
	var told []string
	h := &Helper{Command: "exit 3", Watch: func(ended bool, err error) { told = append(told, fmt.Sprint(ended, err)) }}
	_, _ = h.Key(t.Context())
	if want := []string{"false <nil>", "true the key helper failed: exit status 3"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

func TestFailures(t *testing.T) {
	for command, says := range map[string]string{
		"echo my-secret-value; echo bad my-secret-value sk-ant-0123456789 >&2; exit 3": "the key helper failed: exit status 3: bad *** ***",
		"true":                                 "printed nothing",
		"head -c 70000 /dev/zero | tr '\\0' x": "printed more than 64 KB",
	} {
		_, err := (&Helper{Command: command}).Key(t.Context())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", command, err)
		}
	}
	start := time.Now()
	_, err := (&Helper{Command: "sleep 60 & sleep 60", Timeout: 50 * time.Millisecond}).Key(t.Context())
	if err == nil || !strings.Contains(err.Error(), "did not end within") || time.Since(start) > 10*time.Second {
		t.Errorf("hung: %v after %v", err, time.Since(start))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Helper{Command: "echo k"}).Key(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
