#!/usr/bin/env bash
# tidy.sh tidies every module of this repository. tidy.sh -diff shows what is not tidy, and fails then.
set -euo pipefail
cd "$(dirname "$0")/../.."
go=${GO:-go}
export GOWORK=off

for module in . internal/devtools internal/devtools/manifests benchmarks otel otel/otlptest postgres temporal postgres/temporaltest a2a; do
	(cd "$module" && "$go" mod tidy "$@")
done

# The file of cmd/openagent has no replace line, because go install refuses one. A copy with such
# lines finds the library here, where its version need not be published.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
library=github.com/openagent-go/agent
cp cmd/openagent/go.mod cmd/openagent/go.sum "$copy"
"$go" mod edit -replace "$library=$PWD" -replace "$library/postgres=$PWD/postgres" "$copy/go.mod"
cd cmd/openagent
"$go" mod tidy -modfile="$copy/go.mod" "$@"
if [ $# = 0 ]; then
	"$go" mod edit -dropreplace "$library" -dropreplace "$library/postgres" "$copy/go.mod"
	cp "$copy/go.mod" "$copy/go.sum" .
fi
