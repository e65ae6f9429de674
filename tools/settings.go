package tools

import (
	"encoding/json"

	"github.com/openagent-go/agent/internal/toolapi"
)

// A Setting describes a setting that the tool Config offers.
type Setting struct {
	Key string // its name in settings files
	// Type is the JSON type of values: "string", "boolean", "integer", "number",
	// "array" or "object"; "" is any.
	Type        string
	Default     json.RawMessage // the value if none is set; nil: null
	Description string          // a line for the model
	// Check, if not nil, returns the mistake in a value of the right type.
	Check func(value json.RawMessage) error
}

// SettingsFile returns settings in a file of the user, for the tool Config: a JSON object with a
// member for each. The file is made with its folder if need be, with mode 0600. Members that
// are not settings stay. project, unless empty, is a file whose values count first. It is only
// read; one that is not there is empty. Processes that change the file at the very same moment
// may lose one of the changes, never the file.
func SettingsFile(path, project string, settings ...Setting) Settings {
	f := &toolapi.SettingsFile{Path: path, Project: project}
	for _, s := range settings {
		f.Settings = append(f.Settings, toolapi.Setting(s))
	}
	return Settings(toolapi.NewHandle[toolapi.Settings](f))
}
