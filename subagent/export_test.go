package subagent

// Trees returns how many trees of agents a manager knows.
func Trees(c *Manager) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.trees)
}
