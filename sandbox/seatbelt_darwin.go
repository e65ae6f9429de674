package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// seatbelt confines by the program sandbox-exec.
type seatbelt struct{}

const seatbeltProgram = "/usr/bin/sandbox-exec"

func (seatbelt) Name() string { return "sandbox-exec" }

func (seatbelt) Lacks(p confinement) []string {
	lacks := []string{
		"services of the system can be asked for things",
		"processes that a program leaves behind go on until the host ends them",
	}
	if p.Proxy != "" && !p.Network {
		lacks = append(lacks, "allowed hosts cannot be reached: there is no network at all")
	}
	if p.UnixSockets && !p.Network {
		lacks = append(lacks, "UNIX sockets cannot be used without the host's network")
	}
	if p.Memory > 0 {
		lacks = append(lacks, "memory is not bounded")
	}
	return lacks
}

func (seatbelt) Confine(cmd *exec.Cmd, p confinement) (releaseFunc, error) {
	switch {
	case cmd.Err != nil:
		return nil, cmd.Err
	case cmd.Process != nil:
		return nil, errors.New("confining a command: it has been started")
	}
	p, err := p.normal()
	if err != nil {
		return nil, fmt.Errorf("confining a command: %w", err)
	}
	cmd.Args = slices.Concat([]string{seatbeltProgram, "-p", seatbeltProfile(p), cmd.Path}, cmd.Args[1:])
	cmd.Path = seatbeltProgram
	return func() (int, bool) { return 0, false }, nil
}

// trySeatbelt runs a program that does nothing.
func trySeatbelt(p confinement) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/true")
	var said bytes.Buffer
	cmd.Stderr = &said
	if _, err := (seatbelt{}).Confine(cmd, p); err != nil {
		return err
	}
	if err := cmd.Run(); err != nil {
		return errors.New(strings.TrimSpace(said.String() + " " + err.Error()))
	}
	return nil
}

func candidates() []candidate { return []candidate{{seatbelt{}, trySeatbelt}} }
