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

// OutputMember names the member of a status's Metadata that holds an [Output].
const OutputMember = "output"

// An Output is a part of a running command's output. From and To say which one, in bytes of the output:
// a part that is lost leaves a gap.
type Output struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Text string `json:"text"` // without control characters
}
