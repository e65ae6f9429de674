package bedrock

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

var example = Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}

// The first are of AWS's Signature Version 4 test suite; the others were signed by
// botocore 1.43.11, for the ids of models, which are encoded twice.
func TestSign(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	const host = "https://bedrock-runtime.us-"
	const profile = host + "east-1.amazonaws.com/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke-with-response-stream"
	const arn = host + "west-2.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A123456789012%3Aapplication-inference-profile%2Fabc123/invoke"
	for _, tt := range []struct {
		name, method, url, body, token, service string
		headers, signature                      string
	}{
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "", "", "service", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "", "", "service", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "", "", "service", "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"profile", "POST", profile, `{"max_tokens":1}`, "", "bedrock", "content-type;host;x-amz-date", "1bf3a5eefaaabc7fdc34959e6827adee61446b690fde62f4404bd848d97b050b"},
		{"ARN", "POST", arn, `{"max_tokens":1}`, "", "bedrock", "content-type;host;x-amz-date", "e8a2a0757304cfb4fc0c2bb096f2557510bf9c6955b177f4a98aeb592063f8a6"},
		{"session token", "POST", profile, `{"max_tokens":1}`, "AQoDYXdzEXAMPLETOKEN", "bedrock", "content-type;host;x-amz-date;x-amz-security-token", "6aa6d194c58ff8d28948baf7baac44d6dc320c97c3c69a610829c0161b3e8c20"},
		{"session token and ARN", "POST", arn, `{"max_tokens":1}`, "AQoDYXdzEXAMPLETOKEN", "bedrock", "content-type;host;x-amz-date;x-amz-security-token", "dc5578d8048a6db2bb0c259ef92b72b016dfc9299f064c5d16ea916bdb840662"},
	} {
		r, err := http.NewRequest(tt.method, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.body != "" {
			r.Header.Set("Content-Type", "application/json")
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte(tt.body))), nil }
		}
		c := example
		c.SessionToken = tt.token
		if err := sign(r, c, "us-east-1", tt.service, at); err != nil {
			t.Fatal(err)
		}
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/" + tt.service + "/aws4_request, SignedHeaders=" + tt.headers + ", Signature=" + tt.signature
		if got := r.Header.Get("Authorization"); got != want || r.Header.Get("X-Amz-Date") != "20150830T123600Z" || r.Header.Get("X-Amz-Security-Token") != tt.token {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, want)
		}
	}
}

func TestURL(t *testing.T) {
	for _, tt := range []struct{ region, model, want string }{
		{"us-east-1", "us.anthropic.claude-haiku-4-5-20251001-v1:0", "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke"},
		{"cn-north-1", "anthropic.claude-x", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/anthropic.claude-x/invoke"},
		{"us-gov-west-1", "anthropic.claude-x", "https://bedrock-runtime.us-gov-west-1.amazonaws.com/model/anthropic.claude-x/invoke"},
		{"evil.example/", "anthropic.claude-x", "is not an AWS region"},
		{"", "anthropic.claude-x", "set AWS_REGION"},
	} {
		t.Setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "")
		s := &session{client: &Client{}, region: tt.region}
		got, err := s.url(tt.model, false)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want && !strings.Contains(got, tt.want) || got == "" {
			t.Errorf("%s in %q: %s", tt.model, tt.region, got)
		}
	}
	if got := regionOf("arn:aws:bedrock:eu-west-1:123:inference-profile/eu.anthropic.claude-x"); got != "eu-west-1" {
		t.Errorf("region of an ARN: %q", got)
	}
}

func TestBase(t *testing.T) {
	for id, want := range map[string]string{
		"anthropic.claude-sonnet-4-6":                                                    "claude-sonnet-4-6",
		"anthropic.claude-sonnet-4-5-20250929-v1:0":                                      "claude-sonnet-4-5-20250929",
		"us.anthropic.claude-opus-4-6-v1":                                                "claude-opus-4-6",
		"global.anthropic.claude-haiku-4-5-20251001-v1:0":                                "claude-haiku-4-5-20251001",
		"us-gov.anthropic.claude-3-haiku-20240307-v1:0:200k":                             "claude-3-haiku-20240307",
		"arn:aws:bedrock:us-east-1:123:inference-profile/us.anthropic.claude-sonnet-4-6": "claude-sonnet-4-6",
		"arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-6":        "claude-sonnet-4-6",
		"arn:aws:bedrock:us-east-1:123:application-inference-profile/abc123":             "arn:aws:bedrock:us-east-1:123:application-inference-profile/abc123",
		"amazon.nova-pro-v1:0":                                                           "amazon.nova-pro-v1:0",
	} {
		if got := Base(id); got != want {
			t.Errorf("Base(%s) = %s", id, got)
		}
	}
}
