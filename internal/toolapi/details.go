package toolapi

import "encoding/json"

// Details encodes the Details of a tool's result. It panics if v cannot be JSON: v is a struct of this module.
func Details(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
