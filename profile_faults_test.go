package agent_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/internal/faultserver"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// A complaint is an error as a host words it.
type complaint struct {
	status, body string
	class        llm.Class
}

// A compatible is a host of Chat Completions: its profile, its strict rules and
// what it answers where something goes wrong, from its documentation and from
// reports of users.
type compatible struct {
	name, model string
	host        strictapi.Host
	limited     string // body of a 429
	busy        complaint
	errors      []complaint // that end the run at once
}

const tooMany = "429 Too Many Requests"

func says(text string) string { return `{"error":{"message":"` + text + `"}}` }

var compatibles = []compatible{
	{"openai", "gpt-4.1", strictapi.OpenAI, `{"error":{"message":"Rate limit reached for gpt-4.1 in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
		complaint{"503 Service Unavailable", `{"error":{"message":"That model is currently overloaded with other requests.","type":"server_error","param":null,"code":null}}`, llm.Overloaded},
		[]complaint{{"401 Unauthorized", `{"error":{"message":"Incorrect API key provided: sk-x.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.Auth},
			{tooMany, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llmconst.Billing},
			{"400 Bad Request", `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.","type":"invalid_request_error","param":"messages","code":null}}`, llm.Invalid}}},
	{"azure", "gpt-5.2", strictapi.OpenAI, `{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit of your current OpenAI S0 pricing tier."}}`,
		complaint{"503 Service Unavailable", `{"error":{"code":"ServiceUnavailable","message":"The service is temporarily unable to process your request."}}`, llm.Overloaded},
		[]complaint{{"401 Unauthorized", `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`, llm.Auth},
			{"404 Not Found", `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, llmconst.NotFound}}},
	{"openrouter", "anthropic/claude-sonnet-4.5", strictapi.Compatible, `{"error":{"message":"Rate limit exceeded: free-models-per-min. ","code":429,"metadata":{"provider_name":null}}}`,
		complaint{"502 Bad Gateway", `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"overloaded","provider_name":"X"}}}`, llm.ServerError},
		[]complaint{{"401 Unauthorized", `{"error":{"message":"No auth credentials found","code":401}}`, llm.Auth}, {"402 Payment Required", `{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}`, llmconst.Billing}}},
	{"vercel", "openai/gpt-5", strictapi.Compatible, `{"error":{"message":"Rate limit exceeded","type":"rate_limit_exceeded"}}`,
		complaint{"503 Service Unavailable", says("No providers available"), llm.Overloaded},
		[]complaint{{"401 Unauthorized", `{"error":{"message":"Unauthenticated request to AI Gateway.","type":"authentication_error"}}`, llm.Auth}}},
	{"deepseek", "deepseek-v4-flash", strictapi.DeepSeek, `{"error":{"message":"Rate limit reached","type":"rate_limit_error","param":null,"code":"rate_limit_error"}}`,
		complaint{"503 Service Unavailable", `{"error":{"message":"Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.","type":"service_unavailable_error"}}`, llm.Overloaded},
		[]complaint{{"401 Unauthorized", `{"error":{"message":"Authentication Fails (no such user)","type":"authentication_error","param":null,"code":"invalid_request_error"}}`, llm.Auth},
			{"402 Payment Required", `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, llmconst.Billing},
			{"400 Bad Request", `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, llm.Invalid}}},
	{"glm", "glm-4.6", strictapi.GLM, `{"error":{"code":"1302","message":"Rate limit reached for requests"}}`,
		complaint{"500 Internal Server Error", `{"error":{"code":"1234","message":"Network error, please contact customer service"}}`, llm.ServerError},
		[]complaint{{"401 Unauthorized", `{"error":{"code":"1000","message":"Authentication Failed"}}`, llm.Auth}, {tooMany, `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, llmconst.Billing}}},
	{"kimi", "kimi-k2.6", strictapi.Kimi, `{"error":{"message":"Your account reached max RPM: 3, please try again after 1 seconds","type":"rate_limit_reached_error"}}`,
		complaint{tooMany, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, llm.RateLimit},
		[]complaint{{"401 Unauthorized", `{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}`, llm.Auth},
			{tooMany, `{"error":{"message":"Your account is not active, current state: exceeded quota","type":"exceeded_current_quota_error"}}`, llmconst.Billing}}},
	{"groq", "openai/gpt-oss-120b", strictapi.Groq, `{"error":{"message":"Rate limit reached for model in organization org_x on tokens per minute (TPM): Limit 6000, Used 5900, Requested 200.","type":"tokens","code":"rate_limit_exceeded"}}`,
		complaint{"400 Bad Request", `{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=f"}}`, llm.ServerError},
		[]complaint{{"401 Unauthorized", `{"error":{"message":"Invalid API Key","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.Auth},
			{"413 Payload Too Large", `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, llmconst.TooLarge}}},
	{"xai", "grok-4", strictapi.XAI, `{"code":"Some resource has been exhausted","error":"Too many requests for team x and model grok-4. Your team's rate limit is: Requests per Second."}`,
		complaint{"503 Service Unavailable", `{"code":"The service is currently unavailable","error":"Service temporarily unavailable. The model is at capacity and currently cannot serve this request."}`, llm.Overloaded},
		[]complaint{{"400 Bad Request", `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai."}`, llm.Auth},
			{"403 Forbidden", `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created team doesn't have any credits yet."}`, llmconst.Billing}}},
	{"mistral", "mistral-large-latest", strictapi.Mistral, `{"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}`,
		complaint{"503 Service Unavailable", `{"object":"error","message":"Service unavailable.","type":"internal_server_error","param":null,"code":"1000"}`, llm.Overloaded},
		[]complaint{{"401 Unauthorized", `{"detail":"Unauthorized"}`, llm.Auth},
			{"422 Unprocessable Entity", `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":32000}]},"type":"invalid_request_error","param":null,"code":null}`, llm.Invalid},
			{"400 Bad Request", `{"object":"error","message":"Not the same number of function calls and responses","type":"invalid_request_message_order","param":null,"code":"3230"}`, llm.Invalid}}},
	{"ollama", "qwen3:8b", strictapi.Ollama, `{"error":{"message":"too many requests","type":"api_error","param":null,"code":null}}`,
		complaint{"503 Service Unavailable", `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, llm.Overloaded},
		[]complaint{{"404 Not Found", `{"error":{"message":"model \"qwen3:8b\" not found, try pulling it first","type":"not_found_error","param":null,"code":null}}`, llmconst.NotFound},
			{"400 Bad Request", `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"invalid_request_error","param":null,"code":null}}`, llm.Invalid}}},
	{"llamacpp", "m", strictapi.LlamaCpp, `{"error":{"code":429,"message":"too many requests","type":"rate_limit_error"}}`,
		complaint{"503 Service Unavailable", `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.Overloaded},
		[]complaint{{"401 Unauthorized", `{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}`, llm.Auth}}},
	{"vllm", "Qwen/Qwen3-8B", strictapi.VLLM, `{"object":"error","message":"too many requests","type":"TooManyRequests","param":null,"code":429}`,
		complaint{"500 Internal Server Error", `{"object":"error","message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}`, llm.ServerError},
		[]complaint{{"401 Unauthorized", `{"error":"Unauthorized"}`, llm.Auth}, {"404 Not Found", `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","param":null,"code":404}`, llmconst.NotFound}}},
	{"lmstudio", "m", strictapi.LMStudio, says("too many requests"), complaint{"500 Internal Server Error", `{"error":"Model unloaded."}`, llm.ServerError},
		[]complaint{{"404 Not Found", `{"error":{"message":"No models loaded. Please load a model in the developer page or use the lms load command.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`, llmconst.NotFound}}},
	{"gemini", "gemini-3-flash-preview", strictapi.Gemini, `[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}]`,
		complaint{"503 Service Unavailable", `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, llm.Overloaded},
		[]complaint{{"400 Bad Request", `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.Auth},
			{"400 Bad Request", `[{"error":{"code":400,"message":"Please ensure that function response turn comes immediately after a function call turn.","status":"INVALID_ARGUMENT"}}]`, llm.Invalid}}},
	{"huggingface", "moonshotai/Kimi-K2-Instruct", strictapi.Compatible, `{"error":"Rate limit reached. You reached the limit of requests."}`,
		complaint{"503 Service Unavailable", `{"error":"Model too busy, unable to get response in less than 60 second(s)"}`, llm.Overloaded},
		[]complaint{{"401 Unauthorized", `{"error":"Invalid username or password."}`, llm.Auth}, {"402 Payment Required", `{"error":"You have exceeded your monthly included credits for Inference Providers."}`, llmconst.Billing}}},
	{"avian", "avian-kimi", strictapi.Compatible, says("Rate limit exceeded"), complaint{"500 Internal Server Error", says("Internal server error"), llm.ServerError},
		[]complaint{{"401 Unauthorized", says("Invalid API key"), llm.Auth}}},
}

// provider returns the host as the fault tests want it.
func (c compatible) provider(t *testing.T) provider {
	p, ok := chat.ProfileOf(c.name)
	if !ok {
		t.Fatalf("there is no profile %q", c.name)
	}
	own := *p
	own.KeyHeader = "" // the strict server looks for a bearer
	return provider{name: c.name, text: `"content":"`, input: `"arguments":"`, final: `"finish_reason":"`, model: func(url string, client *http.Client) llm.Model {
		return (&chat.Client{APIKey: "k", BaseURL: url, HTTP: client, Profile: &own}).Model(c.model)
	}}
}

// TestFaultsOfHosts plays the faults that come from the provider against the
// profile of each host, in that host's own words, under its own strict rules.
func TestFaultsOfHosts(t *testing.T) {
	exactly := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
	backoff := [2]time.Duration{1500 * time.Millisecond, 2500 * time.Millisecond}
	type row struct {
		id, name string
		plan     faultserver.Plan
		failures int
		class    llm.Class
		ends     bool // the run ends with that
		took     [2]time.Duration
	}
	known := map[string]bool{}
	for _, c := range compatibles {
		known[c.name] = true
		answer := func(status, body string, header ...string) faultserver.Fault {
			return faultserver.Fault{Wire: faultserver.Whole(status, "application/json", body, header...)}
		}
		limited := func(header ...string) faultserver.Fault { return answer(tooMany, c.limited, header...) }
		busy := answer(c.busy.status, c.busy.body)
		always := func(f faultserver.Fault) faultserver.Plan { return func(int) faultserver.Fault { return f } }
		rows := []row{
			{"L1", "seconds", faultserver.First(limited("Retry-After: 7")), 1, llm.RateLimit, false, exactly(7 * time.Second)},
			{"L1", "date", func(n int) faultserver.Fault {
				if n > 0 {
					return faultserver.Fault{Spoil: faultserver.Fine}
				}
				return limited("Retry-After: " + time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat))
			}, 1, llm.RateLimit, false, exactly(30 * time.Second)},
			{"L1", "absent", faultserver.First(limited()), 1, llm.RateLimit, false, backoff},
			{"L2", "an hour", always(limited("Retry-After: 3600")), 1, llmconst.Unavailable, true, exactly(0)},
			{"L3", "three times", faultserver.First(busy, busy, busy), 3, c.busy.class, false, [2]time.Duration{10 * time.Second, 18 * time.Second}},
			{"L3", "for ever", always(busy), 4, c.busy.class, true, [2]time.Duration{10 * time.Second, 18 * time.Second}},
		}
		if c.name == "gemini" {
			told := strings.Replace(c.limited, `"status"`, `"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"9s"}],"status"`, 1)
			rows = append(rows, row{"L1", "in the body", faultserver.First(answer(tooMany, told)), 1, llm.RateLimit, false, exactly(9 * time.Second)})
		}
		for _, line := range []string{"500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"} {
			class := llm.ServerError
			if line[:3] == "503" {
				class = llm.Overloaded
			}
			rows = append(rows, row{"L4", "web page with " + line[:3], faultserver.First(status(line)), 1, class, false, backoff})
		}
		for _, e := range append([]complaint{{"413 Payload Too Large", "", llmconst.TooLarge}, {"403 Forbidden", "", llm.Forbidden}}, c.errors...) {
			rows = append(rows, row{"L5", e.status + " " + string(e.class), always(answer(e.status, e.body)), 1, e.class, true, exactly(0)})
		}
		for _, r := range rows {
			t.Run(r.id+" "+r.name+" "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x := newSite(t, c.provider(t), true, r.plan)
					x.strict.Host = string(c.host)
					res, err := x.run()
					if res.Duration < r.took[0] || res.Duration > r.took[1] {
						t.Errorf("took %v, want %v", res.Duration, r.took)
					}
					if !r.ends {
						x.completed(res, err, r.failures, r.class)
					} else if err == nil || res.Reason != event.ModelError || len(x.fails) != r.failures {
						t.Errorf("%+v, %v after %+v", res, err, x.fails)
					} else {
						x.classes(r.class)
					}
				})
			})
		}
		for _, n := range []string{"-7", "1e300", ""} {
			spoil := usage(n)
			if n == "" {
				spoil = func(provider) func(string) string {
					return func(body string) string { return strings.ReplaceAll(body, `"usage"`, `"abusage"`) }
				}
			}
			t.Run("L18 usage "+n+" "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := c.provider(t)
					x := newSite(t, p, true, faultserver.First(faultserver.Fault{Spoil: reframed(true, spoil(p))}))
					x.strict.Host = string(c.host)
					res, err := x.run()
					if u := res.Usage; err != nil || min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 || int64(max(u.Input, u.Output)) > 1<<42 {
						t.Errorf("%+v, %v", res, err)
					}
				})
			})
		}
	}
	for _, p := range chat.Profiles() {
		if !known[p.Name] {
			t.Errorf("the profile %s is not tested", p.Name)
		}
	}
}
