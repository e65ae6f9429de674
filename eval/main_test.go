package eval

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv("EVAL_TEST_RUN"); folder != "" {
		runKilled(folder)
		return
	}
	goleak.VerifyTestMain(m)
}
