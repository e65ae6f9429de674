package team

import "os"

// private does nothing: a new file inherits the access list of its folder.
func private(*os.File) error { return nil }
