package environ

import (
	"slices"
	"strings"
	"testing"
)

func TestSecret(t *testing.T) {
	for _, name := range strings.Fields(`AWS_BEARER_TOKEN_BEDROCK REDIS_URL AZURE_STORAGE_CONNECTION_STRING DATABASE_URL SESSION_COOKIE ENCRYPTION_KEY
		SSHPASS SLACK_WEBHOOK_URL BEARER SSH_KEY GH_TOKEN_FILE SENTRY_DSN SMTP_PASS DEPLOY_KEY TWILIO_SID VAULT_UNSEAL STRIPE_KEY PASS API_KEY_PROD JWT KEY
		SNYK_CFG_API TOKEN_GITHUB RAILS_MASTER_KEY DOCKER_AUTH_CONFIG AUTHORIZATION DB_PASS GITHUB_TOKEN github_token TOKEN2 API_KEY_1 OPENAI_API_KEY2
		PGPASSWORD MYSQL_PWD PGPASSFILE_PASSWORD AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GOOGLE_APPLICATION_CREDENTIALS NPM_CONFIG__AUTH
		npm_config_//registry.npmjs.org/:_authToken MONGODB_URI POSTGRES_URL DATABASEURL CELERY_BROKER_URL PRIMARY_DB_URL GITHUB_PAT OTEL_EXPORTER_OTLP_HEADERS
		PGPASSFILE PGSERVICEFILE MYAPIKEY SECRETKEY HTPASSWD SSL_KEY_PASSPHRASE AZURE_STORAGE_SAS DB_CREDS MY-TOKEN MY.PASSWORD`) {
		if !Secret(name) {
			t.Errorf("%s is passed on", name)
		}
	}
	for _, name := range strings.Fields(`PATH HOME PWD OLDPWD SHELL TERM COLORTERM LANG USER TMPDIR EDITOR DISPLAY SSH_AUTH_SOCK SSH_ASKPASS GIT_ASKPASS GIT_AUTHOR_NAME
		GOPROXY GOFLAGS GOPATH HTTP_PROXY HTTPS_PROXY NO_PROXY XDG_RUNTIME_DIR XAUTHORITY DBUS_SESSION_BUS_ADDRESS TERM_SESSION_ID AWS_REGION AWS_PROFILE
		KUBECONFIG DOCKER_HOST PYTHONPATH NODE_ENV LS_COLORS MONKEY BYPASS_CACHE COMPASS GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 OTEL_EXPORTER_OTLP_ENDPOINT
		JAVA_HOME CARGO_HOME CI HOSTNAME SHLVL _ GIT_COMMITTER_EMAIL PATHEXT STRING DATABASE_NAME TOKENIZER TOKENIZERS_PARALLELISM`) {
		if Secret(name) {
			t.Errorf("%s is kept back", name)
		}
	}
}

func TestChild(t *testing.T) {
	for name, value := range map[string]string{
		"SOME_TOKEN": "hidden-1", "WANTED_TOKEN": "wanted", "GIVEN_TOKEN": "old", "ANTHROPIC_BASE_URL": "hidden-2", "INNOCENT": "ghp_0123456789abcdef0123",
		"HTTPS_PROXY": "http://me:hidden-3@proxy:8080", "GOPROXY": "https://me:hidden-4@a.example,https://b.example,direct", "PIP_INDEX_URL": "https://hidden-5@pypi.example/simple",
		"GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_0": "http.https://x.example/.extraHeader", "GIT_CONFIG_VALUE_0": "Authorization: hidden-6",
		"GIT_CONFIG_KEY_1": "safe.directory", "GIT_CONFIG_VALUE_1": "/w", "GIT_CONFIG_KEY_2": "remote.o.url", "GIT_CONFIG_VALUE_2": "https://u:hidden-7@h/x", "PLAIN": "a@b://c",
	} {
		t.Setenv(name, value)
	}
	env := Child([]string{"WANTED_TOKEN"}, map[string]string{"GIVEN_TOKEN": "new", "MORE": "1"})
	for _, kv := range []string{"WANTED_TOKEN=wanted", "GIVEN_TOKEN=new", "MORE=1", "HTTPS_PROXY=http://proxy:8080", "GOPROXY=https://a.example,https://b.example,direct",
		"PIP_INDEX_URL=https://pypi.example/simple", "GIT_CONFIG_VALUE_0=", "GIT_CONFIG_VALUE_1=/w", "GIT_CONFIG_VALUE_2=https://h/x", "GIT_CONFIG_KEY_0=http.https://x.example/.extraHeader", "PLAIN=a@b://c"} {
		if !slices.Contains(env, kv) {
			t.Errorf("%s is missing", kv)
		}
	}
	for _, kv := range env {
		if strings.Contains(kv, "hidden") || strings.HasPrefix(kv, "INNOCENT=") || kv == "GIVEN_TOKEN=old" {
			t.Errorf("%s is passed on", kv)
		}
	}
	secrets := Secrets()
	for _, want := range []string{"hidden-1", "hidden-3", "hidden-4", "hidden-5", "ghp_0123456789abcdef0123"} {
		if !slices.Contains(secrets, want) {
			t.Errorf("%s is not known as a secret", want)
		}
	}
}

func TestAddress(t *testing.T) {
	for raw, want := range map[string][]string{
		"https://h/mcp?key=sk-ant-SECRET01234567&x=1": {"sk-ant-SECRET01234567"}, "https://u:pw@h/": {"pw"}, "https://tok@h/": {"tok"},
		"https://h/a?api_key=a%2Fb": {"a%2Fb", "a/b"}, "https://h/a?accessToken=x#token=y": {"x", "y"}, "https://h/ghp_0123456789abcdef0123/mcp": {"ghp_0123456789abcdef0123"},
		"https://h/a?q=1&sig=z": {"z"}, "https://h/a?page=2": nil, "https://git@h/a": nil,
	} {
		if got := Address(raw); !slices.Equal(got, want) {
			t.Errorf("%s: %q", raw, got)
		}
	}
	got := Arguments([]string{"--api-key", "one", "--token=two", "-v", "https://h/?key=three", "ghp_0123456789abcdef0123", "--name", "x", "DB_PASSWORD=four"})
	if want := []string{"one", "two", "three", "ghp_0123456789abcdef0123", "four"}; !slices.Equal(got, want) {
		t.Errorf("arguments: %q", got)
	}
}

func TestGiven(t *testing.T) {
	got := Given(map[string]string{"A": "a-secret-value", "B": "production", "C": t.TempDir(), "D": "https://u:in-an-address@h/", "E": "/no/such/path"})
	if want := []string{"a-secret-value", "https://u:in-an-address@h/", "in-an-address", "/no/such/path"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A secret that is set while the program runs counts from then on.
func TestSecretsOfAChangedEnvironment(t *testing.T) {
	t.Setenv("ENVIRON_TEST_TOKEN", "first-value-1234")
	if !slices.Contains(Secrets(), "first-value-1234") {
		t.Error("the first value is missing")
	}
	t.Setenv("ENVIRON_TEST_TOKEN", "second-value-1234")
	if got := Secrets(); !slices.Contains(got, "second-value-1234") || slices.Contains(got, "first-value-1234") {
		t.Errorf("after the change: %q", got)
	}
}
