package wire

import (
	"regexp"
	"strings"
)

// MadeBy reports whether the content of the turn was made by a model, or by an unknown one.
func (t *Turn) MadeBy(model string) bool {
	return t.Maker == model || t.Maker == "" || model == "" || ModelOf(t.Maker) == ModelOf(model)
}

// marks of a name that say which snapshot of a model it is, in which form it is
// offered, or where.
var snapshot = regexp.MustCompile(`([-@]20\d\d-?\d\d-?\d\d|-latest)?(-v\d+)?(:[a-z0-9]+)?$`)

// place is the provider that the command puts before the name of a model. Only these
// count: names hold colons themselves.
var place = regexp.MustCompile(`^(anthropic|openai|openai-responses|bedrock|vertex|azure|openrouter|vercel|deepseek|glm|kimi|groq|xai|mistral|ollama|llamacpp|vllm|lmstudio|gemini|huggingface|avian|demo):`)

// ModelOf returns the name of a model without the host's additions: its location, its
// maker, the region, and the snapshot.
func ModelOf(name string) string {
	name = strings.TrimPrefix(name, place.FindString(name))
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if at := strings.LastIndex(name, "anthropic."); at >= 0 { // Bedrock
		name = name[at+len("anthropic."):]
	}
	return name[:snapshot.FindStringIndex(name)[0]]
}
