package wire

import (
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/llm"
)

// overflows are the words in which providers say that a prompt does not fit the
// context window, each with the status that it comes with.
var overflows = []struct {
	provider string
	status   int
	body     string
}{
	{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 214431 tokens > 200000 maximum"}}`},
	{"Anthropic, with max_tokens", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again\"}}"},
	{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
	{"OpenAI Responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`},
	{"Azure", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 9212 tokens (8700 in your prompt; 512 for the completion). Please reduce your prompt; or completion length.","type":"invalid_request_error","param":null,"code":null}}`},
	{"Bedrock", 400, `{"message":"The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum"}`},
	{"Bedrock, older", 400, `{"message":"The model returned the following errors: Input is too long for requested model."}`},
	{"Bedrock, in a stream", 0, `{"error":{"type":"validationException","message":"Input is too long for requested model."}}`},
	{"Vertex", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long"}}`},
	{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`},
	{"OpenRouter", 400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400}}`},
	{"DeepSeek", 400, `{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (131808 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`},
	{"GLM", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`},
	{"Kimi", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}`},
	{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
	{"xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}`},
	{"Mistral", 400, `{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":3051}`},
	{"Ollama", 400, `{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error","param":null,"code":null}}`},
	{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`},
	{"llama.cpp, in a stream", 0, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`},
	{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages. Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`},
	{"vLLM, other versions", 400, `{"object":"error","message":"The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that max_model_len is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}`},
	{"LM Studio", 400, `{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 8192 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}`},
	{"LM Studio, other versions", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input"}`},
	{"Copilot", 400, `{"error":{"message":"prompt token count of 150000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`},
	{"SiliconFlow", 400, `{"code":20015,"message":"length of prompt_tokens (163280) must be less than max_seq_len (32768).","data":null}`},
}

func TestOverflows(t *testing.T) {
	for _, o := range overflows {
		if !json.Valid([]byte(o.body)) {
			t.Errorf("%s: no JSON", o.provider)
		}
		if class, _, message := Explain(o.status, nil, []byte(o.body)); class != llm.TooLong {
			t.Errorf("%s: %s: %s", o.provider, class, message)
		}
	}
	for _, other := range []string{
		`{"error":{"message":"Rate limit reached for tokens per min (TPM): Limit 30000, Requested 40000.","code":"rate_limit_exceeded"}}`,
		`{"error":{"message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"}}`,
		`{"error":{"message":"Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64."}}`,
	} {
		if class, _, _ := Explain(400, nil, []byte(other)); class == llm.TooLong {
			t.Errorf("taken for an overflow: %s", other)
		}
	}
}
