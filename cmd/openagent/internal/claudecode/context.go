package claudecode

// Context is the use of the context window.
type Context struct {
	Categories  []category `json:"categories"`
	Total       int        `json:"totalTokens"`
	Max         int        `json:"maxTokens"`
	RawMax      int        `json:"rawMaxTokens"`
	Percentage  int        `json:"percentage"`
	Grid        [][]any    `json:"gridRows"`
	Model       string     `json:"model"`
	Memory      []any      `json:"memoryFiles"`
	Servers     []any      `json:"mcpTools"`
	Agents      []any      `json:"agents"`
	AutoCompact bool       `json:"isAutoCompactEnabled"`
	Usage       *struct{}  `json:"apiUsage"` // not known
}

type category struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Color  string `json:"color"`
	Kind   string `json:"kind"` // used, free or buffer
}

// parts lists the categories in the order of a request, with our names for them.
var parts = []struct{ own, id, name, color string }{
	{"system", "system_prompt", "System prompt", "promptBorder"},
	{"tools", "system_tools", "System tools", "inactive"},
	{"mcp", "mcp_tools", "MCP tools", "cyan"},
	{"agents", "custom_agents", "Custom agents", "permission"},
	{"instructions", "memory_files", "Memory files", "claude"},
	{"skills", "skills", "Skills", "warning"},
	{"files", "", "Files", "purple"},
	{"results", "", "Tool results", "purple"},
	{"thinking", "", "Thinking", "purple"},
	{"messages", "messages", "Messages", "purple"},
}

// ContextOf returns the use of a window by the next request. own are the tokens by our categories.
func ContextOf(window, tokens, free int, own map[string]int, model string) Context {
	c := Context{Categories: []category{}, Total: tokens, Max: window, RawMax: window, Grid: [][]any{}, Model: model, Memory: []any{}, Servers: []any{}, Agents: []any{}, AutoCompact: true}
	for _, p := range parts {
		if n := own[p.own]; n > 0 {
			c.Categories = append(c.Categories, category{p.id, p.name, n, p.color, "used"})
		}
	}
	if rest := window - tokens - free; window > 0 && rest > 0 {
		c.Categories = append(c.Categories, category{"autocompact_buffer", "Room for the answer", rest, "inactive", "buffer"})
	}
	c.Categories = append(c.Categories, category{"free_space", "Free space", max(free, 0), "promptBorder", "free"})
	if window > 0 {
		c.Percentage = 100 * tokens / window
	}
	return c
}
