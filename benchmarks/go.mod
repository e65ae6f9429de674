module github.com/openagent-go/agent/benchmarks

go 1.26.0

require (
	github.com/openagent-go/agent v0.0.0
	golang.org/x/sys v0.49.0
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	mvdan.cc/sh/v3 v3.14.1 // indirect
)

replace github.com/openagent-go/agent => ../
