package wire

import (
	"regexp"
	"strings"
)

// MadeBy reports whether the given model, or an unknown one, made the content of the turn.
func (t *Turn) MadeBy(model string) bool {
	return t.Maker == model || t.Maker == "" || model == "" || ModelOf(t.Maker) == ModelOf(model)
}

// snapshot matches the end of a model's name that says which snapshot it is, or in which
// form it is offered.
var snapshot = regexp.MustCompile(`([-@]20\d\d-?\d\d-?\d\d|-latest)?(-v\d+)?(:[a-z0-9]+)?$`)

// place matches the provider that the command puts before a model's name. It lists the
// providers, because names contain colons themselves.
var place = regexp.MustCompile(`^(anthropic|openai|openai-responses|bedrock|vertex|azure|openrouter|vercel|deepseek|glm|kimi|groq|xai|mistral|ollama|llamacpp|vllm|lmstudio|gemini|huggingface|avian|demo):`)

// ModelOf returns the name of a model without additions of the host: location, maker,
// region and snapshot.
func ModelOf(name string) string {
	name = strings.TrimPrefix(name, place.FindString(name))
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if at := strings.LastIndex(name, "anthropic."); at >= 0 { // Bedrock
		name = name[at+len("anthropic."):]
	}
	return name[:snapshot.FindStringIndex(name)[0]]
}
