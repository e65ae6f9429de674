package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// A Complaint is the error object of a provider or a gateway.
type Complaint struct{ Kind, Code, Message string }

// Complain reads the error from a JSON body. It knows these shapes:
// {"error":{…}}, {"error":"…"}, [{"error":{…}}], {"message":"…"}, {"detail":"…"},
// {"detail":[{"msg":"…"}]}, {"message":{"detail":[…]}}.
// It reports false if body has no error.
func Complain(body []byte) (Complaint, bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return Complaint{}, false
	}
	inner, ok := outer["error"]
	if !ok || string(inner) == "null" {
		inner = body
		if words(outer["message"]) == "" && words(outer["detail"]) == "" {
			return Complaint{}, false
		}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(inner, &fields) != nil {
		return Complaint{Kind: scalar(outer["type"]), Code: scalar(outer["code"]), Message: words(inner)}, true
	}
	c := Complaint{Kind: scalar(fields["type"]), Code: scalar(fields["code"]), Message: words(fields["message"])}
	if c.Message == "" {
		c.Message = words(fields["detail"])
	}
	if c.Kind == "" {
		c.Kind = scalar(fields["status"])
	}
	if c.Kind == "" {
		c.Kind = c.Code
	}
	return c, true
}

// words returns the text of a member: a string, or the findings of a validator in the form
// of FastAPI and Mistral.
func words(raw json.RawMessage) string {
	if s := scalar(raw); s != "" {
		return s
	}
	var under struct{ Detail json.RawMessage }
	if json.Unmarshal(raw, &under) == nil && under.Detail != nil {
		return words(under.Detail)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var said []string
	for _, item := range list {
		var found struct {
			Loc []any
			Msg string
		}
		switch s := scalar(item); {
		case s != "":
			said = append(said, s)
		case json.Unmarshal(item, &found) == nil && found.Msg != "":
			said = append(said, strings.TrimSpace(fmt.Sprint(found.Loc...)+" "+found.Msg))
		}
	}
	return strings.Join(said, "; ")
}

// scalar returns a JSON string or number as text, else "".
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

var kinds = map[string]llm.Class{
	"authentication_error":  llm.Auth,
	"invalid_api_key":       llm.Auth,
	"permission_error":      llm.Forbidden,
	"not_found_error":       llmconst.NotFound,
	"request_too_large":     llmconst.TooLarge,
	"rate_limit_error":      llm.RateLimit,
	"rate_limit_exceeded":   llm.RateLimit,
	"overloaded_error":      llm.Overloaded,
	"billing_error":         llmconst.Billing,
	"timeout_error":         llm.Timeout,
	"invalid_request_error": llm.Invalid,

	// From Amazon Bedrock, inside a stream and when the status says no more.
	"throttlingException":           llm.RateLimit,
	"serviceQuotaExceededException": llm.RateLimit,
	"serviceUnavailableException":   llm.Overloaded,
	"modelNotReadyException":        llm.Overloaded,
	"modelTimeoutException":         llm.Timeout,
	"validationException":           llm.Invalid,
	"accessDeniedException":         llm.Forbidden,
	"resourceNotFoundException":     llmconst.NotFound,
}

var (
	tooLong = []string{"prompt is too long", "context limit", "context_length_exceeded", "maximum context length",
		"context window", "available context size", "input is too long", "maximum prompt length", "exceeds the maximum number of tokens", "input length exceeds",
		"context size has been exceeded", "context length of only", "greater than the context length", "exceeded model token limit", "must be less than max_seq_len",
		"maximum input length", "maximum model length", "exceeds max length", "context length exceeded", "too large for model with", "prompt token count of", "reduce the length of the messages"}
	noCredit = []string{"insufficient_quota", "credit balance", "insufficient balance", "insufficient credit", "billing_error",
		"insufficient_credits", "billing_hard_limit", "exceeded_current_quota", "doesn't have any credits"}
	// badKey matches the answers of xAI and Google to an invalid key, which have status
	// 400.
	badKey = []string{"incorrect api key", "api key not valid", "invalid api key"}
)

// Class returns the class of an error: by its status, refined by its words. A status below
// 400 means an error inside a reply.
func (c Complaint) Class(status int) llm.Class {
	words := strings.ToLower(c.Kind + " " + c.Code + " " + c.Message)
	has := func(list []string) bool {
		for _, w := range list {
			if strings.Contains(words, w) {
				return true
			}
		}
		return false
	}
	class, known := kinds[c.Kind]
	if !known {
		class, known = kinds[c.Code]
	}
	code, _ := strconv.Atoi(c.Code)
	switch {
	case has(noCredit):
		return llmconst.Billing
	case (status < 500 && status != http.StatusTooManyRequests) && has(tooLong):
		return llm.TooLong
	case status == http.StatusBadRequest && has(badKey):
		return llm.Auth
	case c.Code == "tool_use_failed": // Groq: the model wrote an invalid call; a retry may succeed
		return llm.ServerError
	case status >= 400 && status < 500:
		return ClassOf(status)
	case known:
		return class
	case status >= 500:
		return ClassOf(status)
	case code >= 400 && code < 600:
		return ClassOf(code)
	}
	return llm.ServerError
}

// Explain is an [Exchange].Explain for the shapes that [Complain] knows.
func Explain(status int, _ http.Header, body []byte) (class llm.Class, kind, message string) {
	c, ok := Complain(body)
	if !ok {
		c.Message = string(body)
		return c.Class(status), "", c.Message
	}
	return c.Class(status), c.Kind, c.Message
}

// Complaint returns the error that arrived inside a reply.
func (r *Reply) Complaint(c Complaint) error {
	e := r.Error(c.Class(http.StatusOK), c.Message)
	e.Type = clean(c.Kind, r.secrets)
	if e.Message == "" {
		e.Message = "the provider reports an error in its reply"
	}
	return e
}
