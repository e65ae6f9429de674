#!/usr/bin/env bash
# suite.sh PLATFORM [PACKAGE…] runs the tests of packages, or of all, as programs of another
# processor or system, built without C: 386, arm64 under the emulator qemu-user, or windows under
# Wine. It prints a line for each package, all of the output of those that fail, and the tests
# that it leaves out.
#
# skip_PLATFORM.txt lists these: a package (or * for all), a test (or * for all), a reason.
# arm64 needs the program qemu-aarch64 (Debian: qemu-user) and Linux 6.7, for an emulator
# that is registered in a namespace of its own: it changes nothing of the machine.
# windows needs the program wine64 or wine, version 10, and works in a Wine prefix of its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."

[ $# -gt 0 ] || { sed -n '2,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
platform=$1
shift

export GOOS=linux GOARCH=$platform
run=()
case $platform in
386) ;;
windows)
	wine=$(command -v wine64 || command -v wine) || { echo "there is no wine64; install Wine 10 or later" >&2; exit 2; }
	GOOS=windows GOARCH=amd64
	run=(-exec "$wine")
	WINEPREFIX=$(mktemp -d)
	export WINEPREFIX WINEDEBUG=-all WINEDLLOVERRIDES="winemenubuilder.exe=d;mscoree=d;mshtml=d"
	trap 'wineserver -k 2>/dev/null || true; rm -rf "$WINEPREFIX"' EXIT
	;;
arm64)
	if [ -z "${PLATFORM_NAMESPACE:-}" ]; then
		emulator=$(command -v qemu-aarch64) || { echo "there is no qemu-aarch64; install qemu-user" >&2; exit 2; }
		PLATFORM_NAMESPACE=$emulator exec unshare --user --map-root-user --mount -- "$0" arm64 "$@"
	fi
	# Programs for arm64 start the emulator, also those that tests start.
	mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || { echo "Linux 6.7 or later is needed" >&2; exit 2; }
	head='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
	mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
	echo ":arm64:M::$head:$mask:$PLATFORM_NAMESPACE:POCF" >/proc/sys/fs/binfmt_misc/register
	;;
*)
	echo "there is no platform $platform here; write 386, arm64 or windows" >&2
	exit 2
	;;
esac

[ $# -gt 0 ] || set -- ./... ./cmd/openagent/...
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"
list=$here/skip_$platform.txt
module=github.com/openagent-go/agent
status=0
for package in $(go list "$@"); do
	name=${package#"$module"}
	name=${name#/}
	skip=$(awk -v p="${name:-.}" '/^#/ || NF == 0 { next } $1 == p || $1 == "*" { gsub("/", "$/^", $2); printf "%s^%s$", sep, $2; sep = "|" }' "$list")
	if [[ $skip == *'^*$'* ]]; then
		echo "skipped $package"
		continue
	fi
	output=$(nice go test -vet=off -count=1 -timeout 20m "${run[@]}" ${skip:+-skip "$skip"} "$package" 2>&1) || {
		status=1
		echo "$output"
		continue
	}
	[[ $output == *"[no test files]"* ]] || echo "$output${skip:+, less what is listed below}"
done
echo
echo "Left out, and why:"
grep -v '^#' "$list" || true
exit $status
