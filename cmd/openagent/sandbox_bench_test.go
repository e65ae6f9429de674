package main

import (
	"os/exec"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/sandbox"
)

// BenchmarkConfinedTrue is what the sandbox adds to the start of a program where
// its first process is as large as the command: this test has the same packages
// to initialize. The least time of all is told as well, which other work on the
// machine touches little, and the processor time of all processes.
func BenchmarkConfinedTrue(b *testing.B) {
	dir := paths.RealPath(b.TempDir())
	box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer box.Close()
	confine := box.Confiner()
	for _, name := range []string{"plain", "confined"} {
		b.Run(name, func(b *testing.B) {
			if name == "confined" && confine == nil {
				b.Skip("nothing confines commands here")
			}
			var least, used time.Duration
			for b.Loop() {
				begun := time.Now()
				cmd := exec.Command("true")
				cmd.Dir = dir
				release := func() (int, bool) { return 0, false }
				if name == "confined" {
					if release, err = confine(cmd, ""); err != nil {
						b.Fatal(err)
					}
				}
				err := cmd.Run()
				release()
				if err != nil {
					b.Fatal(err)
				}
				if took := time.Since(begun); least == 0 || took < least {
					least = took
				}
				used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}
