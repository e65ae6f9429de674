package workspace

import (
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// shells are the running processes of a Workspace, and the shells and jobs of
// its sessions. The zero value is ready.
type shells struct {
	plain   bool      // do without control groups
	away    shellHost // nil: this machine
	guard   guard
	running sync.WaitGroup // processes, and those who wait for them
	count   atomic.Int64

	mu       sync.Mutex
	opened   bool
	closed   bool
	closing  chan struct{} // closed: everything is to end
	temp     string        // folder of the shells' files, 0700
	host     string        // begins the ids of its jobs
	group    string        // control group of its processes, "" where there is none
	sessions map[string]*shell
}

// enter counts one more process, or other work that Close must wait for.
func (s *shells) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("the workspace: %w", os.ErrClosed)
	}
	if !s.opened {
		if err := s.open(); err != nil {
			return err
		}
	}
	s.running.Add(1)
	return nil
}

func (s *shells) open() error {
	if s.away != nil {
		temp, err := s.away.open()
		if err != nil {
			return err
		}
		s.temp, s.closing, s.sessions, s.opened = temp, make(chan struct{}), map[string]*shell{}, true
		return nil
	}
	temp, err := os.MkdirTemp("", "openagent-shell-")
	if err != nil {
		return fmt.Errorf("making a folder for the shells: %w; set TMPDIR to a folder that can be written", err)
	}
	s.temp = temp
	s.closing = make(chan struct{})
	s.sessions = map[string]*shell{}
	name := rand.Text()[:12]
	s.host = hostID() + "." + name + "."
	sweepStale()
	if !s.plain {
		s.group = makeGroup("openagent-" + name)
	}
	s.opened = true
	return nil
}

func (s *shells) newID() string { return s.host + strconv.FormatInt(s.count.Add(1), 10) }

// remove removes a folder of a shell.
func (s *shells) remove(folder string) error {
	if s.away != nil {
		return s.away.remove(folder)
	}
	return os.RemoveAll(folder)
}

// closeShells ends every process and waits for it.
func (w *Workspace) closeShells() error {
	s := &w.shell
	s.mu.Lock()
	first := s.opened && !s.closed
	s.closed = true
	if first {
		close(s.closing)
	}
	s.mu.Unlock()
	s.running.Wait()
	if !first {
		return nil
	}
	s.guard.close()
	if s.group != "" {
		removeGroup(s.group)
	}
	if err := s.remove(s.temp); err != nil {
		return fmt.Errorf("removing the folder of the shells: %w", err)
	}
	return nil
}
