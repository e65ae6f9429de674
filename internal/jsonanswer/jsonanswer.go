// Package jsonanswer finds the JSON object in a model's answer.
package jsonanswer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/toolschema"
)

// maxObjects is in how many places of an answer an object is looked for.
const maxObjects = 100

// Find reads an answer: it is a JSON object that satisfies the schema, or holds
// exactly one, in a fence or among other words.
func Find(schema *toolschema.Schema, text string) (out json.RawMessage, found bool, err error) {
	out, err = schema.Check([]byte(text))
	if err == nil || json.Valid([]byte(strings.TrimSpace(text))) {
		return out, false, err
	}
	objects := objectsIn(text)
	var fit []json.RawMessage
	for _, o := range objects {
		good, bad := schema.Check(o)
		if bad == nil {
			fit = append(fit, good)
		} else if len(objects) == 1 {
			err = bad
		}
	}
	switch len(fit) {
	case 0:
		return nil, false, err
	case 1:
		return fit[0], true, nil
	}
	return nil, false, fmt.Errorf("there are %d JSON objects in it that would do", len(fit))
}

// objectsIn returns the JSON objects in a text that are not within another one.
func objectsIn(text string) []json.RawMessage {
	var list []json.RawMessage
	rest := []byte(text)
	for range maxObjects {
		at := bytes.IndexByte(rest, '{')
		if at < 0 {
			break
		}
		var o json.RawMessage
		d := json.NewDecoder(bytes.NewReader(rest[at:]))
		if d.Decode(&o) != nil {
			rest = rest[at+1:]
			continue
		}
		list = append(list, o)
		rest = rest[at+int(d.InputOffset()):]
	}
	return list
}
