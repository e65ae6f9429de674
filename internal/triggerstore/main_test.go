package triggerstore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test program is started again as the process that serves triggers, told by
// this variable where they are kept.
const servedFile = "TRIGGER_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(servedFile); path != "" {
		serve(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// serve answers for the triggers until its input ends. It prints its address,
// then a line for each run.
func serve(path string) {
	h := &Handler{Store: &File{Path: path}, Run: func(_ context.Context, t Trigger, p Payload) error {
		fmt.Printf("ran %s %s %s\n", t.Name, p.Run, p.Data)
		return nil
	}}
	mux := http.NewServeMux()
	mux.Handle("/hooks/", http.StripPrefix("/hooks", h))
	s := httptest.NewServer(mux)
	fmt.Println(s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Close()
	h.Close()
}
