package safefile

import (
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"
)

// A rename waits for a program that has the file open, but not for ever, and not for other errors.
func TestRenameWhileOpen(t *testing.T) {
	open := errors.New("the process cannot access the file")
	for _, c := range []struct {
		name   string
		free   time.Duration // when the other program closes the file
		fails  error         // then
		want   error
		waited time.Duration // at most
	}{
		{"at once", 0, nil, nil, 0},
		{"closed soon", 100 * time.Millisecond, nil, nil, 200 * time.Millisecond},
		{"another error", 0, fs.ErrNotExist, fs.ErrNotExist, 0},
		{"closed, and then gone", 50 * time.Millisecond, fs.ErrNotExist, fs.ErrNotExist, 100 * time.Millisecond},
		{"never closed", time.Hour, nil, open, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				err := patiently(func() error {
					if time.Since(begin) < c.free {
						return open
					}
					return c.fails
				}, func(err error) bool { return err == open })
				if err != c.want {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if waited := time.Since(begin); waited > c.waited {
					t.Errorf("waited for %v, want at most %v", waited, c.waited)
				}
			})
		})
	}
}
