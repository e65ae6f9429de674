package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// hostVariable makes the test binary a host that is going to be killed; its value
// is a line for bash.
const hostVariable = "SANDBOX_TEST_HOST"

func TestMain(m *testing.M) {
	if line := os.Getenv(hostVariable); line != "" {
		cmd := exec.Command("/bin/bash", "-c", line)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if _, err := (native{}).Confine(cmd, confinement{}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(cmd.Run())
		os.Exit(0)
	}
	os.Exit(m.Run())
}
