package subagent

// Crews returns how many trees of agents a crew knows.
func Crews(c *Manager) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.crews)
}
