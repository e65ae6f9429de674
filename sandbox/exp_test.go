package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"fmt"
)

func TestExp(t *testing.T) {
	b, a := Detect(Policy{})
	t.Log(b, a)
	if b == nil { t.Fatal() }
	p := Policy{}
	for _, l := range strings.Fields(os.Getenv("W")) { p.Write = append(p.Write, l) }
	for _, l := range strings.Fields(os.Getenv("RO")) { p.ReadOnly = append(p.ReadOnly, l) }
	for _, l := range strings.Fields(os.Getenv("H")) { p.Hidden = append(p.Hidden, l) }
	for _, l := range strings.Fields(os.Getenv("R")) { p.Read = append(p.Read, l) }
	p.Weaker = os.Getenv("WEAK") != ""
	p.Nested = os.Getenv("NEST") != ""
	cmd := exec.Command("bash", "-c", os.Getenv("C"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if d := os.Getenv("D"); d != "" { cmd.Dir = d }
	rel, err := b.Confine(cmd, p)
	if err != nil { t.Fatal(err) }
	s := time.Now()
	err = cmd.Run()
	fmt.Println(err, time.Since(s))
	fmt.Println(rel())
}
