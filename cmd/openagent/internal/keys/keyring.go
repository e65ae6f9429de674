package keys

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"
)

// A ring is a keyring.
type ring interface {
	available() bool
	get(name string) (string, error)
	set(name, key string) error
	remove(name string) error // no error if there is none
}

// A systemRing is the keyring of the system, for entries of one service: the keychain of macOS, the
// credential manager of Windows, and the Secret Service of other systems.
type systemRing struct{ service string }

// ringTime is how long to wait for a keyring. It may ask the user to unlock it.
const ringTime = time.Minute

// available reports whether there may be a keyring. Elsewhere than on macOS and Windows it needs a
// message bus: looking for one would start it. An empty DBUS_SESSION_BUS_ADDRESS says that there is
// none.
func (systemRing) available() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if address, set := os.LookupEnv("DBUS_SESSION_BUS_ADDRESS"); set {
		return address != ""
	}
	_, err := os.Stat(fmt.Sprintf("/run/user/%d/bus", os.Getuid()))
	return err == nil
}

func (r systemRing) get(name string) (key string, err error) {
	if !r.available() {
		return "", errors.New("this system has no keyring")
	}
	err = within(func() (err error) {
		key, err = keyring.Get(r.service, name)
		return err
	})
	if err != nil {
		return "", err
	}
	return key, nil
}

func (r systemRing) set(name, key string) error {
	return within(func() error { return keyring.Set(r.service, name, key) })
}

func (r systemRing) remove(name string) error {
	if !r.available() {
		return errors.New("this system has no keyring")
	}
	err := within(func() error { return keyring.Delete(r.service, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// within calls the keyring and gives up after ringTime. An unanswered call stays open until the program ends.
func within(call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(ringTime):
		return fmt.Errorf("no answer within %v", ringTime)
	}
}
