package llmtest

// A Violation is a rule of a provider that a request breaks.
type Violation struct {
	// Rule is A01 to A55 for Anthropic Messages, O01 to O29 for OpenAI Chat
	// Completions, O40 to O50 for single hosts of it, R01 to R31 for OpenAI Responses, A00, O00 and R00 for a body that is not JSON, and H01 to H04 for
	// headers: key, anthropic-version, content type, Content-Length.
	Rule    string
	Path    string // the part of the body meant, as the provider names it
	Message string // the provider's answer
	Request int    // which request of a [Server] broke it, from 0
}

// String returns the rule and the message.
func (v Violation) String() string { return v.Rule + ": " + v.Message }
