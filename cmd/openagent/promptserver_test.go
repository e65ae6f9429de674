package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// promptServer is an MCP server on stdin and stdout that has a prompt with two arguments.
func promptServer() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ProtocolVersion string
				Name            string
				Arguments       map[string]string
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"prompts": map[string]any{}}, "serverInfo": map[string]string{"name": "s", "version": "1"}}
		case "prompts/list":
			answer["result"] = map[string]any{"prompts": []any{map[string]any{"name": "review", "description": "Reviews a file",
				"arguments": []any{map[string]any{"name": "file", "required": true}, map[string]any{"name": "style"}}}}}
		case "prompts/get":
			text := fmt.Sprintf("Review %s: be %s.", m.Params.Arguments["file"], m.Params.Arguments["style"])
			answer["result"] = map[string]any{"messages": []any{map[string]any{"role": "user", "content": map[string]string{"type": "text", "text": text}}}}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "there is no such method"}
		}
		line, err := json.Marshal(answer)
		if err != nil {
			os.Exit(1)
		}
		fmt.Printf("%s\n", line)
	}
}
