# Answers a request about files: main OPERATION TOKEN ARGUMENT... The answer is parts that end
# with the token on a line of its own.
set -f
unset CDPATH
LC_ALL=C
export LC_ALL
NL='
'
end() { printf '\n%s\n' "$T"; }
say() {
	printf '%s' "$1"
	end
}
fail() {
	say "!$1"
	exit 0
}

# enter ROOT FOLDER [make] goes to a folder below ROOT, through no symlink.
enter() {
	WHY=missing
	[ -d "$1" ] || return 1
	WHY=denied
	cd -P -- "$1" 2>/dev/null || return 1
	WHY=changed
	[ "$(pwd -P; echo x)" = "$1${NL}x" ] || return 1
	[ "$2" != . ] || return 0
	AT=${1%/} MAKE=$3
	IFS=/
	set -- $2
	unset IFS
	for c do
		AT=$AT/$c
		WHY=changed
		[ ! -L "./$c" ] || return 1
		if [ ! -d "./$c" ]; then
			WHY=file
			[ ! -e "./$c" ] || return 1
			WHY=missing
			[ -n "$MAKE" ] || return 1
			WHY=denied
			mkdir "./$c" 2>/dev/null || return 1
			say "m$AT"
		fi
		WHY=denied
		cd -P -- "./$c" 2>/dev/null || return 1
	done
}

sum() {
	set -- $(cksum 2>/dev/null)
	printf '%s %s' "$1" "$2"
}

# What describes names where there is no stat: no mode, and no time.
PLAIN='T=$0
for p do
	k=O s=0
	if [ -L "$p" ]; then k=L; elif [ -d "$p" ]; then k=D; elif [ -f "$p" ]; then
		k=F
		s=$(wc -c <"$p" 2>/dev/null) || s=0
	fi
	printf "%s %d 0 %s\n%s\n" "$k" "$s" "$p" "$T"
done'

# describe COMMAND... gives names to what describes them: one part for each.
if stat -c %f / >/dev/null 2>&1; then
	describe() { "$@" stat -c "%f %s %Y %n$NL$T" "{}" + 2>/dev/null; }
	info() { stat -c "%f %s %Y %n$NL$T" "$1" 2>/dev/null; }
elif stat -f %Xp / >/dev/null 2>&1; then
	describe() { "$@" stat -f "%Xp %z %m %N$NL$T" "{}" + 2>/dev/null; }
	info() { stat -f "%Xp %z %m %N$NL$T" "$1" 2>/dev/null; }
else
	describe() { "$@" sh -c "$PLAIN" "$T" "{}" + 2>/dev/null; }
	info() { sh -c "$PLAIN" "$T" "$1"; }
fi

look() {
	for p do
		if [ -L "$p" ]; then
			printf l
			readlink "$p"
		elif [ -d "$p" ]; then
			printf d
		elif [ -f "$p" ]; then
			printf f
		elif [ -p "$p" ]; then
			printf p
		elif [ -S "$p" ]; then
			printf s
		elif [ -b "$p" ] || [ -c "$p" ]; then
			printf c
		elif [ -e "$p" ]; then
			printf o
		elif [ -d "${p%/*}/" ] && [ ! -x "${p%/*}/" ]; then
			printf x
		else
			printf n
		fi
		end
	done
}

# open ROOT FOLDER NAME
open() {
	enter "$1" "$2" || fail "$WHY"
	p=./$3
	[ ! -L "$p" ] || fail changed
	if [ -f "$p" ]; then
		[ -r "$p" ] || fail denied
		say +
		info "$p"
		cat "$p" 2>/dev/null
		end
	elif [ -d "$p" ]; then
		[ -r "$p" ] && [ -x "$p" ] || fail denied
		say +
		info "$p"
		describe find "$p" -mindepth 1 -maxdepth 1 -exec
	elif [ -p "$p" ]; then
		fail pipe
	elif [ -S "$p" ]; then
		fail socket
	elif [ -b "$p" ] || [ -c "$p" ]; then
		fail device
	else
		fail missing
	fi
	say .
}

# dirs ROOT NAME...
dirs() {
	enter "$1" . || fail "$WHY"
	shift
	say +
	n=$#
	for d do
		if [ -d "./$d" ] && [ ! -L "./$d" ] && [ -r "./$d" ] && [ -x "./$d" ]; then
			say y
			set -- "$@" "./$d"
		else
			say n
		fi
	done
	shift "$n"
	[ $# = 0 ] || describe find "$@" -mindepth 1 -maxdepth 1 -exec
	say .
}

# files ROOT NAME...
files() {
	enter "$1" . || fail "$WHY"
	shift
	say +
	for f do
		if [ -f "./$f" ] && [ ! -L "./$f" ] && [ -r "./$f" ]; then
			say y
			cat "./$f" 2>/dev/null
			end
		else
			say n
		fi
	done
	say .
}

# stage ROOT FOLDER TEMP LIKE writes its input to a new file.
stage() {
	[ -z "$4" ] || [ -w "$4" ] || fail denied
	enter "$1" "$2" make || fail "$WHY"
	if [ -n "$4" ]; then
		cp -p "$4" "./$3" 2>/dev/null || fail denied
	else
		(set -C && : >"./$3") 2>/dev/null || fail denied
	fi
	cat >"./$3" || fail full
	say "+$(sum <"./$3")"
}

# commit (ROOT FOLDER NAME TEMP SUM)... A part that fails undoes those before it.
commit() {
	trap '' HUP INT TERM PIPE
	step "$@"
	say "$?"
}
step() {
	[ $# != 0 ] || return 0
	(
		where=$1/$2/$3 base=./$3 temp=$4 sum=$5 old=./.tmp-old-$T.$#
		enter "$1" "$2" || fail1 "$WHY"
		shift 5
		if [ "$sum" = none ]; then
			[ ! -e "$base" ] && [ ! -L "$base" ] || fail1 changed
		else
			[ ! -L "$base" ] && [ -f "$base" ] && [ "$(sum <"$base")" = "$sum" ] || fail1 changed
			[ -w "$base" ] || fail1 denied
			ln "$base" "$old" 2>/dev/null || cp -p "$base" "$old" 2>/dev/null || fail1 denied
		fi
		if [ -n "$temp" ]; then
			mv -f "./$temp" "$base" 2>/dev/null
		else
			rm -f "$base" 2>/dev/null
		fi || {
			rm -f "$old"
			fail1 denied
		}
		if step "$@"; then
			rm -f "$old"
			exit 0
		fi
		if [ "$sum" = none ]; then
			rm -f "$base"
		else
			mv -f "$old" "$base"
		fi || say "?$where"
		exit 1
	)
}
fail1() {
	say "!$1 $where"
	exit 1
}

# discard PATH... removes files, and folders (with a slash at the end) that are empty.
discard() {
	for p do
		case $p in
		*/) rmdir "$p" 2>/dev/null ;;
		*) rm -f "$p" ;;
		esac
	done
	say .
}

setup() {
	D=$(mktemp -d "${TMPDIR:-/tmp}/openagent.XXXXXX") || fail denied
	say "+$D"
	say "$HOME"
	say "$(command -v bash)"
}

# keep FROM TO makes a folder for a shell that begins like the one in FROM.
keep() {
	mkdir -p "$2" || fail denied
	[ ! -f "$1/state" ] || cp "$1/state" "$2/state" || fail denied
	say +
}

erase() {
	rm -rf "$1"
	say .
}

main() {
	op=$1 T=$2
	shift 2
	end
	"$op" "$@"
}
