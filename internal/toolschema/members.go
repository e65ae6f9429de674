package toolschema

import "encoding/json"

// AddMembers returns details, a JSON object or nil, with more members. Details
// that are something else stay as they are.
func AddMembers(details json.RawMessage, more map[string]any) json.RawMessage {
	all := map[string]json.RawMessage{}
	if len(details) > 0 && json.Unmarshal(details, &all) != nil || all == nil {
		return details
	}
	for k, v := range more {
		data, err := json.Marshal(v)
		if err != nil {
			return details
		}
		all[k] = data
	}
	out, err := json.Marshal(all)
	if err != nil {
		return details
	}
	return out
}
