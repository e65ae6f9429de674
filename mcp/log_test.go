//lint:file-ignore SA1019 Logging is deprecated in the newest version of the protocol; servers of the others have it.

package mcp

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server that logs without end does not fill the log: it says so once, and a minute
// later listens again.
func TestLogWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := New(map[string]Config{"s": {Command: "true"}}, Options{Log: slog.New(slog.NewTextHandler(&out, nil))}).servers["s"]
		for _, minute := range []int{1, 2} {
			for range 1000 {
				s.logged(t.Context(), &sdk.LoggingMessageParams{Level: "error", Data: "x"})
			}
			if n, m := strings.Count(out.String(), "text=x"), strings.Count(out.String(), "says too much"); n != minute*maxLogs || m != minute {
				t.Errorf("minute %d: %d messages, %d notes", minute, n, m)
			}
			time.Sleep(time.Minute)
		}
	})
}
