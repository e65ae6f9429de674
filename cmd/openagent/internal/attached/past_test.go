package attached

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/remote"
	"github.com/openagent-go/agent/session"
)

// A server that sends pages without end is read for a while, and the last facts stay.
func TestPastOfAHostileServer(t *testing.T) {
	before := recalledBytes
	recalledBytes = 20 << 10
	defer func() { recalledBytes = before }()
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("Content-Type", "application/json")
		after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		fmt.Fprintf(w, `{"events":[{"v":1,"seq":%d,"prev":%d,"type":"run_end","session":"s","time":"2026-01-01T00:00:00Z","data":{"reason":"internal","message":"%s"}}],"last":%d,"more":true}`,
			after+1, after, strings.Repeat("x", 4<<10), after+1)
	}))
	defer s.Close()
	v := New(nil, &remote.Client{URL: s.URL}, remote.Info{Info: session.Info{Header: session.Header{Session: "s"}, Facts: 10}})
	past, err := v.past(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(past) != 4 || past[3].Seq != 2*recalled || requests != 2*recalled || !v.short {
		t.Errorf("%d facts after %d requests, not all is shown: %t", len(past), requests, v.short)
	}
}
