// Package llmconst holds values of package llm and of its clients that programs rarely name.
// Strings are untyped: they fit the types of llm, such as llm.Class and llm.StopReason.
package llmconst

// Classes of failures that a client of your own seldom tells apart; llm has the others.
const (
	Protocol    = "protocol"         // the reply breaks the rules of the API
	NotFound    = "not_found"        // 404
	TooLarge    = "too_large"        // 413
	Billing     = "billing"          // no credit
	Oversized   = "oversized_answer" // an answer above [MaxAnswer] or [MaxBlocks]
	TLS         = "tls"              // bad certificate: trying again does not help
	Unavailable = "unavailable"      // retry-after is longer than the caller waits
	Detached    = "detached"         // the run was detached: the resumed run repeats the call
)

// Reasons why a model stopped that only some providers have.
const (
	StopSequence = "stop_sequence"
	PauseTurn    = "pause_turn"
	Overflow     = "model_context_window_exceeded"
)

// Ways in which a request sets how much a model thinks, as catalog.Entry.Thinking has them.
const (
	ThinkingNone     = "none"     // it cannot be told
	ThinkingBudget   = "budget"   // Anthropic: a number of tokens, at least 1,024
	ThinkingAdaptive = "adaptive" // Anthropic: a word, the model decides how much
	ThinkingEffort   = "effort"   // OpenAI: reasoning_effort, a word
)

// Forms of changes of files, as catalog.Entry.Edits has them.
const (
	EditsReplace = "replace" // old text and new text
	EditsPatch   = "patch"   // patches, as ApplyPatch takes them
)

// The limits of one answer of a model. A longer one is given up with an error that matches
// llm.ErrOversized as soon as that is known, and is not asked for again.
const (
	MaxAnswer = 12 << 20 // bytes of text, thinking and inputs of calls together
	MaxBlocks = 2000     // texts, thoughts and calls
)

// The windows assumed for unknown models. One that is too small costs a summary too early.
// One that is too large costs a request that the provider refuses, after which the
// conversation is summarised anyway.
const (
	// AssumedWindow is that of most families of hosted models that are offered today
	// and do not have more.
	AssumedWindow = 128_000
	// AssumedLocalWindow is for servers on this machine: they cut off longer prompts, some
	// silently, and are often started with a smaller window than the model has.
	AssumedLocalWindow = 32_768
)

// MaxCost is where costs saturate, in USD, so that sums of them are numbers.
const MaxCost = 1e15

// DefaultModel is the model to use if none is named.
const DefaultModel = "claude-sonnet-4-6"
