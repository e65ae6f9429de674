package safefile

import (
	"context"
	"errors"
	"os"
	"time"
)

// lockPause is the pause between two looks at a lock that others hold.
const lockPause = 2 * time.Millisecond

// Lock waits for the exclusive lock of a file of its own, and makes the file if it is missing. The
// file stays. Lock fails with the cause of ctx when ctx ends. Call unlock once.
func Lock(ctx context.Context, name string) (unlock func() error, err error) {
	f, err := Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for {
		held, err := TryLock(f, Exclusive)
		if held {
			return func() error { return errors.Join(Unlock(f), f.Close()) }, nil
		}
		if err == nil {
			select {
			case <-time.After(lockPause):
				continue
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		}
		return nil, errors.Join(err, f.Close())
	}
}
