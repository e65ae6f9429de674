#!/usr/bin/env bash
# link.sh [SYSTEM[/PROCESSOR]…] links the tests of all packages for other systems, without C, and
# runs none: for Windows and macOS unless you name others. It prints each package whose tests do not
# link, with the errors. The programs are in a temporary folder, one at a time, and removed.
set -euo pipefail
cd "$(dirname "$0")/../../.."

[ $# -gt 0 ] || set -- windows/amd64 darwin/arm64
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
for target in "$@"; do
	export GOOS=${target%/*} GOARCH=amd64
	[ "$GOOS" = "$target" ] || GOARCH=${target#*/}
	linked=0
	packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... ./cmd/openagent/...)
	for package in $packages; do
		if nice go test -vet=off -c -o "$folder/test" "$package"; then
			linked=$((linked + 1))
		else
			echo "$GOOS/$GOARCH: the tests of $package do not link" >&2
			status=1
		fi
		rm -f "$folder/test"
	done
	echo "$GOOS/$GOARCH: the tests of $linked packages link"
done
exit $status
