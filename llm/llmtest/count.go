package llmtest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/promptcache"
	"github.com/openagent-go/agent/internal/strictapi"
)

// A counting is an end point that counts the tokens of a request: that of the Messages API,
// of Bedrock or Vertex for it, or of the Responses API. Its input must keep to the rules of
// the API that it counts for.
type counting struct {
	api      wire
	platform *platform     // nil: the provider's own
	fields   strictapi.Set // the allowed members of a body; nil: those of a request
	member   string        // of the answer
}

var (
	countedMessages  = strictapi.SetOf("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config")
	countedResponses = strictapi.SetOf("conversation", "input", "instructions", "model", "parallel_tool_calls", "personality", "previous_response_id",
		"reasoning", "text", "tool_choice", "tools", "truncation")
)

// countingOf tells by the path whether tokens are to be counted; nil: they are not.
func countingOf(u *url.URL) *counting {
	path := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	n := len(path)
	switch last := path[n-1]; {
	case n >= 3 && path[n-3] == "model" && last == "count-tokens":
		model, err := url.PathUnescape(path[n-2])
		if err != nil {
			return nil
		}
		return &counting{api: anthropicWire{}, platform: &platform{bedrock: true, model: model, version: "bedrock-2023-05-31"}, member: "inputTokens"}
	case n >= 2 && path[n-2] == "models" && last == "count-tokens:rawPredict":
		return &counting{api: anthropicWire{}, platform: &platform{version: "vertex-2023-10-16"}, fields: countedMessages, member: "input_tokens"}
	case n >= 2 && path[n-2] == "messages" && last == "count_tokens":
		return &counting{api: anthropicWire{}, fields: countedMessages, member: "input_tokens"}
	case n >= 2 && path[n-2] == "responses" && last == "input_tokens":
		return &counting{api: responsesWire{}, fields: countedResponses, member: "input_tokens"}
	}
	return nil
}

// count answers a request to count tokens. Only one that breaks a rule is on record.
func (s *Server) count(w http.ResponseWriter, hr *http.Request, c *counting) {
	if c.platform != nil {
		w = &platformWriter{ResponseWriter: w, platform: c.platform}
		hr = hr.Clone(hr.Context())
		hr.Header.Set("Anthropic-Version", "2023-06-01")
	}
	body, unread := readBody(hr)
	if unread != nil {
		refuse(w, c.api, *unread)
		return
	}
	counted, broken := c.read(body)
	broken = append(s.checkHeader(hr.Header, c.api), broken...)
	if len(broken) > 0 {
		s.record(&Request{Path: hr.URL.Path, Header: hr.Header.Clone(), Body: body, broken: broken}, false)
		if !s.Lenient {
			refuse(w, c.api, refusal{status: http.StatusBadRequest, message: broken[0].Message})
			return
		}
	}
	n := promptcache.Tokens(len(counted))
	if !c.fields["input"] {
		n = cmp.Or(promptcache.Input(counted), n)
	}
	answer := strictapi.Object{c.member: n}
	if c.fields["input"] {
		answer["object"] = "response.input_tokens"
	}
	writeJSON(w, http.StatusOK, answer)
}

// read returns the request to count, and its violations.
func (c *counting) read(body []byte) (counted []byte, broken []strictapi.Violation) {
	var r strictapi.Report
	if c.platform != nil && c.platform.bedrock {
		var err error
		if body, err = invocation(body); err != nil {
			r.Add("A00", "input", "%v", err)
			return body, r.Found
		}
		if c.platform.model != foundationModel(c.platform.model) {
			r.Add("A01", "modelId", "The provided model doesn't support counting tokens.")
		}
	}
	v, err := strictapi.Parse(body)
	fields, ok := v.(strictapi.Object)
	if err != nil || !ok {
		return body, c.api.check(body, "")
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if c.fields != nil && !c.fields[name] && (c.platform == nil || name != "anthropic_version") {
			r.Add("A02", name, "%s: Extra inputs are not permitted", name)
		}
	}
	full := maps.Clone(fields)
	if c.fields["input"] {
		full["store"] = false
	} else if c.fields != nil {
		full["max_tokens"] = json.Number("1000000")
	}
	if p := c.platform; p != nil {
		if full["anthropic_version"] != p.version {
			r.Add("A01", "anthropic_version", "anthropic_version: Field required")
		}
		delete(full, "anthropic_version")
		delete(full, "anthropic_beta")
		name := strictapi.TextOf(full["model"])
		switch {
		case p.bedrock && (full["model"] != nil || full["stream"] != nil):
			r.Add("A02", "model", "Extra inputs are not permitted")
		case p.bedrock:
			full["model"] = p.model
		case strings.Contains(name, "@"):
			r.Add("A01", "model", "%s is not supported for token counting", name)
		}
	}
	return body, append(r.Found, c.api.checkParsed(full, "")...)
}

// invocation returns the body of the request in one of CountTokens.
func invocation(body []byte) ([]byte, error) {
	var r struct {
		Input struct {
			InvokeModel struct{ Body string }
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(r.Input.InvokeModel.Body)
}

// foundationModel returns a model's id without the geography of a profile.
func foundationModel(id string) string {
	if at := strings.Index(id, "anthropic."); at > 0 {
		return id[at:]
	}
	return id
}
