// Command openagent runs an agent: one prompt for scripts, a conversation on a
// terminal. "openagent help" says more.
package main

import "os"

func main() {
	os.Exit(newHost().main(os.Args[1:]))
}
