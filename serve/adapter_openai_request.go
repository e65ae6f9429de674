package serve

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// chatRequest is what the server reads of a request. Other fields, such as temperature, are the
// agent's own business.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	N          *int            `json:"n"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Format     struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	User     string         `json:"user"`
	SafetyID string         `json:"safety_identifier"`
	Metadata map[string]any `json:"metadata"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text or a list of parts
}

type chatPart struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

// turns returns the conversation, and the instructions of the client.
func (r *chatRequest) turns() (turns []turn, system string, err error) {
	var instructions []string
	for _, m := range r.Messages {
		t, err := m.turn()
		if err != nil {
			return nil, "", err
		}
		switch {
		case m.Role == "system" || m.Role == "developer":
			instructions = append(instructions, t.text)
		case m.Role == "user", m.Role == "assistant", m.Role == "tool", m.Role == "function": // calls of another model's tools are left out
			turns = addTurn(turns, t)
		default:
			return nil, "", bad("a message has the unknown role %q", text.Runes(m.Role, 40))
		}
	}
	return turns, strings.Join(instructions, "\n\n"), nil
}

func (m *chatMessage) turn() (turn, error) {
	t := turn{role: m.Role}
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return t, nil
	}
	if json.Unmarshal(m.Content, &t.text) == nil {
		return t, nil
	}
	var parts []chatPart
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return t, bad("the content of a message must be a text or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			texts = append(texts, p.Text)
		case "refusal":
		case "image_url", "file":
			if err := t.addFile("", p.File.Name, cmp.Or(p.Image.URL, p.File.Data)); err != nil {
				return t, err
			}
		default:
			return t, bad("parts of the type %q cannot be sent to the agent", text.Runes(p.Type, 40))
		}
	}
	t.text = strings.Join(texts, "\n")
	return t, nil
}

// check refuses what the agent cannot do.
func (r *chatRequest) check() error {
	var choice string
	named := len(r.ToolChoice) > 0 && json.Unmarshal(r.ToolChoice, &choice) != nil
	switch {
	case r.N != nil && *r.N != 1:
		return bad("n must be 1: the agent gives one answer")
	case named, choice == "required":
		return bad("tool_choice must be auto or none: the agent calls its own tools only")
	case r.Format.Type == "json_object":
		return bad("response_format must be text or json_schema")
	}
	return nil
}

// option returns a text of the metadata.
func (r *chatRequest) option(name string) string {
	s, _ := r.Metadata[name].(string)
	return s
}
