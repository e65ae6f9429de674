package chat

import (
	"cmp"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
)

// A Profile describes how a host of the Chat Completions API differs from the others. The
// zero Profile is for an unknown host. Do not change a profile once a [Client] has it.
type Profile struct {
	Name string
	// Hosts are domains, including their subdomains. ":11434" means that port of this
	// machine and of addresses in private networks.
	Hosts []string
	// BaseURL is the address of the host for a client with this profile and no BaseURL.
	BaseURL string
	// Keys are the environment variables that may hold the key. OPENAI_API_KEY comes last.
	Keys []string
	// KeyHeader is the header for the key. "": Authorization, as a bearer token.
	KeyHeader string
	// Keyless: the host works without a key. Loopback addresses always do.
	Keyless bool

	// Limit is the name of the member that limits the output. "": max_tokens, or
	// max_completion_tokens for models for which the catalogue says so.
	Limit string
	// NoStreamOptions: the host refuses stream_options, and sends usage without being
	// asked.
	NoStreamOptions bool
	// NoStop: the host refuses stop sequences.
	NoStop bool
	// Hottest is the highest temperature. 0: 2.
	Hottest float64
	// Members is a JSON object whose members are added to each request.
	Members json.RawMessage

	// Echo says how the host wants its model's reasoning back.
	Echo Echo
	// Ask says how to ask for thinking. Efforts are the words for it, from the least to the
	// most: none (off), minimal, low, medium, high, xhigh, max. Nil: low, medium, high.
	Ask     Ask
	Efforts []string
	// Force says when a request may force a call of a tool.
	Force Force
	// IDs is the form of tool call ids. "": up to 40 characters.
	IDs IDs
	// AnswersFirst: the assistant must speak between results of tools and the user.
	AnswersFirst bool
	// Signatures: calls carry extra_content, which the host wants back.
	Signatures bool
	// Schemas is the dialect of tool schemas. "": all of JSON Schema.
	Schemas Schemas

	// Formats: response_format accepts a json_schema, also together with tools. The
	// catalogue and the models' names say for which models.
	Formats bool

	// CacheKey is the member for the id of a conversation, with which the host finds its
	// prompt cache. "": there is none.
	CacheKey string
	// CacheMark: Claude models cache the prompt at members cache_control.
	CacheMark bool

	// MakersPrices: models have names such as anthropic/claude-opus-5, and cost what their
	// makers charge.
	MakersPrices bool

	NoImages bool // no model reads images
	NoGIF    bool // no model reads GIF images
	Files    bool // the host accepts PDF documents

	// Rules change the profile for some models. The first matching rule counts.
	Rules []Rule
}

// A Rule describes how some models differ.
type Rule struct {
	// Models is a pattern, as in path.Match, for the part after the last slash of the name
	// in lower case.
	Models  string
	Ask     Ask      // "": as the profile says
	Efforts []string // nil: as the profile says
	Echo    Echo     // "": as the profile says
	Force   Force    // "": as the profile says
	// NoSamplers: the model refuses temperature and stop sequences.
	NoSamplers bool
	// PlainTools: requests with tools must turn thinking off.
	PlainTools bool
}

// An Echo is the member in which a host wants its model's reasoning back.
type Echo string

const (
	EchoNone      Echo = ""                  // not wanted
	EchoContent   Echo = "reasoning_content" // with tool calls
	EchoAlways    Echo = "always"            // with every message; "" without reasoning
	EchoReasoning Echo = "reasoning"         // with tool calls
	EchoDetails   Echo = "reasoning_details" // in every turn
)

// An Ask is a way to ask for thinking.
type Ask string

const (
	AskEffort   Ask = ""         // reasoning_effort
	AskNothing  Ask = "nothing"  // thinking cannot be requested
	AskObject   Ask = "object"   // "reasoning": {"effort": …} or {"max_tokens": …}
	AskType     Ask = "type"     // "thinking": {"type": "enabled"}
	AskBoth     Ask = "both"     // AskType and AskEffort
	AskTemplate Ask = "template" // "chat_template_kwargs": {"enable_thinking": true}, and AskEffort where there are Efforts
	AskGoogle   Ask = "google"   // AskEffort, and numbers of tokens in extra_body
)

// A Force says when a request may force a call of a tool.
type Force string

const (
	ForceAlways   Force = ""         // a named tool, or any tool
	ForceAny      Force = "any"      // only any tool
	ForceThinking Force = "thinking" // not while thinking, so thinking is turned off for the request
	ForceNever    Force = "never"
)

// IDs are forms of tool call ids.
type IDs string

const (
	IDsShort IDs = ""     // up to 40 characters
	IDsNine  IDs = "nine" // exactly nine letters and digits
)

// Schemas are dialects of tool schemas.
type Schemas string

const (
	SchemasFull   Schemas = ""
	SchemasGoogle Schemas = "google" // the part of OpenAPI 3.0 that Gemini reads
)

// Profiles returns the profiles of all known hosts, in no particular order.
func Profiles() []Profile { return slices.Clone(profiles) }

// ProfileOf returns the profile with the given name.
func ProfileOf(name string) (*Profile, bool) {
	for i := range profiles {
		if profiles[i].Name == name {
			p := profiles[i]
			return &p, true
		}
	}
	return nil, false
}

// ProfileAt returns the profile of the host at a base URL. Unknown hosts have one too, so
// it is never nil. Do not change it.
func ProfileAt(base string) *Profile {
	u, err := url.Parse(base)
	if err != nil {
		return &generic
	}
	host := strings.ToLower(u.Hostname())
	for i := range profiles {
		if profiles[i].at(host, u.Port()) {
			return &profiles[i]
		}
	}
	if wire.Loopback(host) {
		return &local
	}
	return &generic
}

func (p *Profile) at(host, port string) bool {
	for _, h := range p.Hosts {
		if own, ok := strings.CutPrefix(h, ":"); ok {
			if own == port && nearby(host) {
				return true
			}
		} else if host == h || strings.HasSuffix(host, "."+h) {
			return true
		}
	}
	return false
}

// nearby reports whether a host is this machine or an address in a private network.
func nearby(host string) bool {
	ip := net.ParseIP(host)
	return wire.Loopback(host) || ip != nil && ip.IsPrivate()
}

// rule returns the rule for a model, the zero Rule if there is none.
func (p *Profile) rule(model string) Rule {
	if len(p.Rules) == 0 {
		return Rule{}
	}
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, r := range p.Rules {
		if ok, err := path.Match(r.Models, model); ok && err == nil {
			return r
		}
	}
	return Rule{}
}

// key returns the host's key from the environment.
func (p *Profile) key() string {
	for _, name := range p.Keys {
		if v := wire.First(os.Getenv(name)); v != "" {
			return v
		}
	}
	return ""
}

// A target is a host with its rules for one model.
type target struct {
	*Profile
	ask        Ask
	efforts    []string
	echo       Echo
	force      Force
	noSamplers bool
	plainTools bool
}

func (p *Profile) target(model string) target {
	r := p.rule(model)
	t := target{Profile: p, ask: cmp.Or(r.Ask, p.Ask), efforts: p.Efforts, echo: cmp.Or(r.Echo, p.Echo),
		force: cmp.Or(r.Force, p.Force), noSamplers: r.NoSamplers, plainTools: r.PlainTools}
	if r.Ask == askEffort {
		t.ask = AskEffort
	}
	if r.Efforts != nil {
		t.efforts = r.Efforts
	}
	return t
}

// askEffort is AskEffort in a rule, where "" means unchanged.
const askEffort Ask = "effort"

var (
	usual   = []string{"low", "medium", "high"}
	generic = Profile{Name: "generic"}
	// local is a host on this machine with an unknown port.
	local = Profile{Name: "local", Keyless: true, Echo: EchoContent, Rules: []Rule{
		{Models: "*kimi*", Echo: EchoAlways}, {Models: "*deepseek*", Echo: EchoAlways},
	}}
)

// openaiRules are the values of reasoning_effort for OpenAI's models
// (https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning). The errors of the
// API name the rest, as in anomalyco/opencode#4451. From gpt-5.4 on, functions and
// reasoning exclude each other in this API (openai/openai-openapi#541). gpt-5.6 must be
// told so (BerriAI/litellm#34569).
var openaiRules = []Rule{
	{Models: "gpt-5-chat*", Ask: AskNothing},
	{Models: "gpt-5.[0-9]-chat*", Ask: AskNothing},
	{Models: "gpt-5-pro*", Efforts: []string{"high"}},
	{Models: "gpt-5.[2-9]-pro*", Efforts: []string{"medium", "high", "xhigh"}},
	{Models: "gpt-5.1-codex-max*", Efforts: []string{"low", "medium", "high", "xhigh"}},
	{Models: "gpt-5-codex*", Efforts: usual},
	{Models: "gpt-5.1-codex*", Efforts: usual},
	{Models: "gpt-5.[2-9]-codex*", Efforts: []string{"low", "medium", "high", "xhigh"}},
	{Models: "gpt-5.1*", Efforts: []string{"none", "low", "medium", "high"}},
	{Models: "gpt-5.[23]*", Efforts: []string{"none", "low", "medium", "high", "xhigh"}},
	{Models: "gpt-5.[4-9]*", Efforts: []string{"none", "low", "medium", "high", "xhigh"}, PlainTools: true},
	{Models: "gpt-5*", Efforts: []string{"minimal", "low", "medium", "high"}},
	{Models: "gpt-[6-9]*", Efforts: []string{"none", "low", "medium", "high", "xhigh"}, PlainTools: true},
}

// profiles are the known hosts. "Recorded" means that real exchanges show it, see
// docs/providers.md. The rest comes from the pages named.
var profiles = []Profile{
	{
		// Recorded. https://platform.openai.com/docs/api-reference/chat
		Name: "openai", Hosts: []string{"api.openai.com"}, BaseURL: DefaultBaseURL, Keys: []string{"OPENAI_API_KEY"},
		Limit: "max_completion_tokens", Formats: true, Files: true, CacheKey: "prompt_cache_key", Rules: openaiRules,
	}, {
		// Recorded. https://learn.microsoft.com/azure/ai-foundry/openai/reference
		Name: "azure", Hosts: []string{"openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"},
		Keys: []string{"AZURE_OPENAI_API_KEY"}, KeyHeader: "Api-Key",
		Limit: "max_completion_tokens", Formats: true, Files: true, CacheKey: "prompt_cache_key", Rules: openaiRules,
	}, {
		// Recorded. https://openrouter.ai/docs/use-cases/reasoning-tokens, …/guides/best-practices/prompt-caching.
		// Prices: https://openrouter.ai/docs/faq ("passes through the pricing of the underlying providers").
		Name: "openrouter", Hosts: []string{"openrouter.ai"}, BaseURL: "https://openrouter.ai/api/v1", Keys: []string{"OPENROUTER_API_KEY"},
		Limit: "max_tokens", Members: json.RawMessage(`{"usage":{"include":true}}`), Echo: EchoDetails,
		Ask: AskObject, Efforts: []string{"none", "minimal", "low", "medium", "high", "xhigh"}, Formats: true, CacheKey: "session_id", CacheMark: true, MakersPrices: true,
	}, {
		// Recorded. https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions/reasoning.
		// Prices: https://vercel.com/docs/ai-gateway/pricing ("no markup and no platform fee on tokens").
		Name: "vercel", Hosts: []string{"ai-gateway.vercel.sh"}, BaseURL: "https://ai-gateway.vercel.sh/v1", Keys: []string{"AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"},
		Limit: "max_tokens", MakersPrices: true, Echo: EchoDetails,
		Ask: AskObject, Efforts: []string{"none", "minimal", "low", "medium", "high", "xhigh"},
	}, {
		// https://api-docs.deepseek.com/guides/thinking_mode (thinks by default).
		// Forced calls: deepseek-ai/DeepSeek-V3#1376.
		Name: "deepseek", Hosts: []string{"deepseek.com"}, BaseURL: "https://api.deepseek.com", Keys: []string{"DEEPSEEK_API_KEY"},
		Echo: EchoAlways, Ask: AskBoth, Efforts: []string{"low", "high", "max"}, Force: ForceThinking, NoImages: true,
	}, {
		// Recorded. https://docs.z.ai/guides/capabilities/thinking-mode
		Name: "glm", Hosts: []string{"z.ai", "bigmodel.cn"}, BaseURL: "https://api.z.ai/api/paas/v4", Keys: []string{"ZAI_API_KEY", "ZHIPUAI_API_KEY", "GLM_API_KEY"},
		Hottest: 1, Echo: EchoContent, Ask: AskType,
		Rules: []Rule{{Models: "glm-5.[2-9]*", Ask: AskBoth, Efforts: []string{"low", "high", "max"}}},
	}, {
		// https://platform.kimi.ai/docs/guide/use-thinking-effort and
		// …/docs/api/models-overview: K3 and K2.7 always think, samplers are fixed.
		Name: "kimi", Hosts: []string{"moonshot.ai", "moonshot.cn", "kimi.com", "kimi.ai"}, BaseURL: "https://api.moonshot.ai/v1", Keys: []string{"MOONSHOT_API_KEY", "KIMI_API_KEY"},
		Hottest: 1, Echo: EchoAlways, Ask: AskNothing, Force: ForceNever,
		Rules: []Rule{
			{Models: "kimi-k[3-9]*", Ask: askEffort, Efforts: []string{"low", "high", "max"}, NoSamplers: true},
			{Models: "kimi-k2.[56]*", Ask: AskType, Force: ForceThinking, NoSamplers: true},
			{Models: "kimi-k2.[7-9]*", NoSamplers: true},
		},
	}, {
		// Recorded. https://console.groq.com/docs/reasoning
		Name: "groq", Hosts: []string{"groq.com"}, BaseURL: "https://api.groq.com/openai/v1", Keys: []string{"GROQ_API_KEY"},
		Ask: AskNothing,
		Rules: []Rule{
			{Models: "gpt-oss*", Ask: askEffort, Efforts: usual},
			{Models: "qwen3*", Ask: askEffort, Efforts: []string{"none", "default"}},
		},
	}, {
		// Recorded. https://docs.x.ai/docs/guides/reasoning; words of grok-4.3: vercel/ai, @ai-sdk/xai 4.0.0.
		Name: "xai", Hosts: []string{"x.ai"}, BaseURL: "https://api.x.ai/v1", Keys: []string{"XAI_API_KEY"},
		NoStop: true, Echo: EchoContent, Ask: AskNothing, Formats: true,
		Rules: []Rule{
			{Models: "grok-3-mini*", Ask: askEffort, Efforts: []string{"low", "high"}},
			{Models: "grok-4.[3-9]*", Ask: askEffort, Efforts: []string{"none", "low", "medium", "high"}},
			{Models: "grok-[5-9]*", Ask: askEffort, Efforts: []string{"none", "low", "medium", "high"}},
		},
	}, {
		// https://docs.mistral.ai/api. Ids and order of roles: mistral-common's
		// validator; members that are refused: charmbracelet/crush#1590,
		// editor-code-assistant/eca#231, dnakov/anon-kode#53.
		Name: "mistral", Hosts: []string{"mistral.ai"}, BaseURL: "https://api.mistral.ai/v1", Keys: []string{"MISTRAL_API_KEY"},
		Limit: "max_tokens", NoStreamOptions: true, Hottest: 1.5, IDs: IDsNine, AnswersFirst: true, Ask: AskNothing,
		Rules: []Rule{
			{Models: "mistral-small-latest", Ask: askEffort, Efforts: []string{"none", "high"}},
			{Models: "mistral-small-26*", Ask: askEffort, Efforts: []string{"none", "high"}},
		},
	}, {
		// github.com/ollama/ollama, openai/openai.go
		Name: "ollama", Hosts: []string{":11434", "ollama.com"}, BaseURL: "http://localhost:11434/v1", Keys: []string{"OLLAMA_API_KEY"}, Keyless: true,
		Limit: "max_tokens", Echo: EchoReasoning, Efforts: []string{"none", "low", "medium", "high"}, NoGIF: true,
	}, {
		// Recorded. github.com/ggml-org/llama.cpp, tools/server/README.md
		Name: "llamacpp", Hosts: []string{":8080", ":9931"}, BaseURL: "http://localhost:8080/v1", Keys: []string{"LLAMA_API_KEY"}, Keyless: true,
		Echo: EchoContent, Ask: AskTemplate, Efforts: []string{"none", "low", "medium", "high"}, Force: ForceAny,
	}, {
		// https://docs.vllm.ai/en/stable/features/reasoning_outputs/; the effort is
		// checked against a list, so only the models that know it get one.
		Name: "vllm", Hosts: []string{":8000"}, BaseURL: "http://localhost:8000/v1", Keys: []string{"VLLM_API_KEY"}, Keyless: true,
		Echo: EchoContent, Ask: AskTemplate,
		Rules: []Rule{
			{Models: "*gpt-oss*", Ask: askEffort, Efforts: usual},
			{Models: "*kimi*", Echo: EchoAlways}, {Models: "*deepseek*", Echo: EchoAlways},
		},
	}, {
		// https://lmstudio.ai/docs/developer/openai-compat
		Name: "lmstudio", Hosts: []string{":1234"}, BaseURL: "http://localhost:1234/v1", Keys: []string{"LMSTUDIO_API_KEY"}, Keyless: true,
		Limit: "max_tokens", Echo: EchoContent, Force: ForceAny,
	}, {
		// https://ai.google.dev/gemini-api/docs/openai and …/thought-signatures
		Name: "gemini", Hosts: []string{"generativelanguage.googleapis.com"}, BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		Limit: "max_tokens", Signatures: true, Schemas: SchemasGoogle, Ask: AskGoogle, Efforts: []string{"minimal", "low", "medium", "high"},
		Rules: []Rule{
			{Models: "gemini-[12].0*", Ask: AskNothing},
			{Models: "gemini-1*", Ask: AskNothing},
			{Models: "gemini-2.5-flash*", Efforts: []string{"none", "minimal", "low", "medium", "high"}},
		},
	}, {
		// Recorded. https://huggingface.co/docs/inference-providers
		Name: "huggingface", Hosts: []string{"huggingface.co"}, BaseURL: "https://router.huggingface.co/v1", Keys: []string{"HF_TOKEN"},
	}, {
		// Recorded. https://avian.io/docs
		Name: "avian", Hosts: []string{"avian.io"}, BaseURL: "https://api.avian.io/v1", Keys: []string{"AVIAN_API_KEY"},
		Echo: EchoContent,
	},
}
