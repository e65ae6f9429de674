//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/client"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Close ends a program that ignores requests to end, with what it has started.
func TestClose(t *testing.T) {
	t.Parallel()
	t.Run("stubborn", func(t *testing.T) {
		t.Parallel()
		s := start(t, "stubborn", client.Options{})
		for range s.Messages(t.Context()) {
			break
		}
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Error(err)
		}
	})
	t.Run("parent", func(t *testing.T) {
		t.Parallel()
		s := start(t, "parent", client.Options{})
		var child struct{ PID int }
		for m, err := range s.Messages(t.Context()) {
			if err != nil || json.Unmarshal(m.Raw, &child) != nil || child.PID == 0 {
				t.Fatal(err, m)
			}
			break
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(child.PID, 0); err == nil {
			if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.PID)); !strings.Contains(string(stat), ") Z ") {
				t.Errorf("process %d is left", child.PID)
			}
		}
	})
	t.Run("flood", func(t *testing.T) {
		t.Parallel()
		s := start(t, "flood", client.Options{CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Decision{}, ctx.Err()
		}})
		for m, err := range s.Messages(t.Context()) {
			if err != nil || m.Result == nil && m.Type == "" {
				t.Fatal(err, m)
			}
			if m.Result != nil {
				break
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
