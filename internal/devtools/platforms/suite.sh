#!/usr/bin/env bash
# suite.sh PROCESSOR [PACKAGE…] runs the tests of packages, or of all, as programs of another
# processor, built without C: 386, or arm64 under the emulator qemu-user. It prints a line for
# each package, all of the output of those that fail, and the tests that it leaves out.
#
# skip_PROCESSOR.txt lists these: a package (or * for all), a test (or * for all), a reason.
# arm64 needs the program qemu-aarch64 (Debian: qemu-user) and Linux 6.7, for an emulator
# that is registered in a namespace of its own: it changes nothing of the machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."

[ $# -gt 0 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
processor=$1
shift

case $processor in
386) ;;
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
	echo "there is no processor $processor here; write 386 or arm64" >&2
	exit 2
	;;
esac

[ $# -gt 0 ] || set -- ./... ./cmd/openagent/...
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"
list=$here/skip_$processor.txt
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
	output=$(GOARCH=$processor nice go test -vet=off -count=1 -timeout 20m ${skip:+-skip "$skip"} "$package" 2>&1) || {
		status=1
		echo "$output"
		continue
	}
	[[ $output == *"[no test files]"* ]] || echo "$output${skip:+, less what is listed below}"
done
echo
echo "Left out, and why:"
grep -v '^#' "$list"
exit $status
