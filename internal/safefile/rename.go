package safefile

import "time"

// Windows gives a file no new name while another program has it or its target open, such as a
// scanner that looks at each new file. That is over soon, so we try again for this long.
const (
	renamePatience = 2 * time.Second
	renamePause    = 2 * time.Millisecond
)

// patiently calls rename until it succeeds, or fails with an error for which inUse is false, or
// renamePatience has passed. It returns the last error.
func patiently(rename func() error, inUse func(error) bool) error {
	begin := time.Now()
	for pause := renamePause; ; pause *= 2 {
		err := rename()
		if err == nil || !inUse(err) || time.Since(begin)+pause > renamePatience {
			return err
		}
		time.Sleep(pause)
	}
}
