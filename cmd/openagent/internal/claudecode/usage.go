package claudecode

import "github.com/openagent-go/agent/llm"

// Usage is the usage of a prompt, in full.
type Usage struct {
	Input         int           `json:"input_tokens"`
	Output        int           `json:"output_tokens"`
	CacheRead     int           `json:"cache_read_input_tokens"`
	CacheWrite    int           `json:"cache_creation_input_tokens"`
	ServerTools   serverToolUse `json:"server_tool_use"`
	Tier          string        `json:"service_tier"`
	CacheCreation cacheCreation `json:"cache_creation"`
	Geo           string        `json:"inference_geo"`
	Iterations    []any         `json:"iterations"`
	Speed         string        `json:"speed"`
}

type serverToolUse struct {
	Searches int `json:"web_search_requests"`
	Fetches  int `json:"web_fetch_requests"`
}

type cacheCreation struct {
	Hour    int `json:"ephemeral_1h_input_tokens"`
	Minutes int `json:"ephemeral_5m_input_tokens"`
}

// UsageOf returns the usage of a prompt.
func UsageOf(u llm.Usage) Usage {
	return Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Tier: "standard",
		CacheCreation: cacheCreation{u.CacheWriteHour, max(u.CacheWrite-u.CacheWriteHour, 0)}, Iterations: []any{}, Speed: "standard"}
}
