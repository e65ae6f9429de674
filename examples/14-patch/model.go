package main

import (
	"os"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
)

// model returns Claude if ANTHROPIC_API_KEY is set. Otherwise it plays the answers below.
func model() llm.Model {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return anthropic.Model("claude-sonnet-4-6")
	}
	apply := func(patch string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "ApplyPatch", map[string]string{"input": patch}))
	}
	read := func(name string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "Read", map[string]string{"file_path": name}))
	}
	return llmtest.Script(read("greet.go"), read("README"), apply(good), apply(bad),
		llmtest.Step{Text: "The program wishes a good morning; wishing a good night did not work."})
}

const good = `*** Begin Patch
*** Update File: greet.go
@@ func greet() string {
-	return "hello"
+	return "good morning"
*** Update File: README
*** Move to: README.md
 A program
-that says hello.
+that wishes a good morning.
*** End Patch`

// The second file has no such line, so the first stays as it is too.
const bad = `*** Begin Patch
*** Update File: greet.go
-	return "good morning"
+	return "good night"
*** Update File: README.md
-that says goodbye.
+that wishes a good night.
*** End Patch`
