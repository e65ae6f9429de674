package environ

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestHide runs this program with a password, and has it look at itself as another process would.
func TestHide(t *testing.T) {
	if os.Getenv("TEST_HIDE") == "" {
		c := exec.Command(os.Args[0], "-test.run=^TestHide$", "-test.v")
		c.Env = append(os.Environ(), "TEST_HIDE=seen", "PGPASSWORD=pass-of-the-database", "OPENAGENT_STORE=postgres://host-of-the-database/db", "LATER=stays")
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "hidden well") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	if err := Hide(); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"pass-of-the-database", "host-of-the-database"} {
		if strings.Contains(string(env), hidden) {
			t.Errorf("others can read %s", hidden)
		}
	}
	if !strings.Contains(string(env), "TEST_HIDE=seen") || !strings.Contains(string(env), "LATER=stays") {
		t.Error("other variables are gone")
	}
	if os.Getenv("PGPASSWORD") != "pass-of-the-database" || os.Getenv("OPENAGENT_STORE") != "postgres://host-of-the-database/db" {
		t.Error("the program has lost its variables")
	}
	fmt.Println("hidden well")
}
