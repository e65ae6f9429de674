package wire

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ObjectSchema returns the schema of a tool's input in a form that every provider accepts:
// type object, and no combinator at the root. The tool itself checks the combinators. An
// empty schema accepts any object.
func ObjectSchema(raw json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte(`{"type":"object","properties":{}}`), nil
	}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil || root == nil {
		return nil, errors.New("it is not a JSON object")
	}
	var kind any
	if t, ok := root["type"]; ok {
		_ = json.Unmarshal(t, &kind)
	}
	if list, ok := kind.([]any); ok && len(list) == 1 {
		kind = list[0]
	}
	if kind != nil && kind != "object" {
		return nil, errors.New("its type is not object")
	}
	_, oneOf := root["oneOf"]
	_, anyOf := root["anyOf"]
	_, allOf := root["allOf"]
	_, properties := root["properties"]
	if string(root["type"]) == `"object"` && properties && !oneOf && !anyOf && !allOf {
		return AppendJSON(nil, raw), nil
	}
	delete(root, "oneOf")
	delete(root, "anyOf")
	delete(root, "allOf")
	root["type"] = json.RawMessage(`"object"`)
	if !properties {
		root["properties"] = json.RawMessage(`{}`)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(root); err != nil {
		return nil, err
	}
	return AppendJSON(nil, b.Bytes()), nil
}
