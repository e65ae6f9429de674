package workspace

// shells is the state of the shells and jobs of a Workspace.
type shells struct{}

// closeShells ends every shell and job and waits for them.
func (w *Workspace) closeShells() error { return nil }
