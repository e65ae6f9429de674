# Runs a command: TOKEN FOLDER DIR SHELL. Its input is four lengths, each on a line, and then
# the texts env, init, command and run. The command ends with its input: that is how it is
# stopped from afar. Its output and its errors go to the output; the errors end with a line
# that has the token, the exit code and the number of processes that were left.
T=$1 D=$2 W=$3 S=$4
unset CDPATH
u=$(umask)
umask 077
mkdir -p "$D" || exit 1
read -r a && read -r b && read -r c && read -r d || exit 1
part() { dd bs=1 count="$1" of="$D/$2" 2>/dev/null; }
part "$a" env && part "$b" init && part "$c" command && part "$d" run || exit 1
umask "$u"
tell() { printf '\n%s %s %s\n' "$T" "$1" "$2" >&2; }
cd -- "$W" 2>/dev/null || {
	tell gone 0
	exit 0
}
rm -f "$D/save" "$D/folder" "$D/stop"

# others lists the processes of the command.
if [ -r /proc/self/environ ] && printf 'a\0b' | grep -qsz '^b' 2>/dev/null; then
	others() {
		for o in $(grep -lsz "^OPENAGENT_JOB=.*$T" /proc/[0-9]*/environ 2>/dev/null); do
			o=${o#/proc/}
			echo "${o%/environ}"
		done
	}
elif [ -r /proc/self/environ ]; then
	others() {
		for o in /proc/[0-9]*/environ; do
			if tr '\0' '\n' <"$o" | grep -q "^OPENAGENT_JOB=.*$T"; then
				o=${o#/proc/}
				echo "${o%/environ}"
			fi
		done 2>/dev/null
	}
else
	others() {
		ps -A -o pid= -o pgid= -o stat= 2>/dev/null | while read -r o g s; do
			case $g$s in "$J"Z*) ;; "$J"*) echo "$o" ;; esac
		done
	}
fi
# finish ends the processes of the command: it asks, and then kills.
finish() {
	for i in 1 1 1 1 1 1 1 1 1 1 9 9 9 9 9 9 9 9 9 9; do
		o=$(others)
		[ -n "$o" ] || return 0
		if [ "$i" = 9 ]; then kill -9 $o; else kill $o; fi 2>/dev/null
		sleep 0.2 2>/dev/null || sleep 1
	done
}
G=
[ -r /proc/self/environ ] || ! command -v setsid >/dev/null || G=setsid
[ -r /proc/self/environ ] || [ -n "$G" ] || set -m
exec 3<&0 </dev/null
env OPENAGENT_JOB="$OPENAGENT_JOB$T;" $G "$S" "$D/run" 2>&1 3<&- &
J=$!
{
	cat <&3
	: >"$D/stop"
	finish
} >/dev/null 2>&1 &
K=$!
exec 3<&-
wait "$J"
code=$?
left=0
if [ -e "$D/stop" ]; then
	wait "$K"
else
	o=$(others)
	[ -z "$o" ] || sleep 0.25 2>/dev/null || sleep 1
	[ -z "$o" ] || o=$(others)
	for i in $o; do left=$((left + 1)); done
	finish
	if [ "$code" -le 128 ] && [ "$(tail -n 1 "$D/save" 2>/dev/null)" = '# complete' ]; then
		mv -f "$D/save" "$D/state"
		printf '\n%s+\n' "$T" >&2
		cat "$D/folder" >&2
		printf '\n%s-\n' "$T" >&2
	fi
fi
tell "$code" "$left"
