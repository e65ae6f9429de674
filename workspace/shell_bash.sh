__openagent_save() {
	[ -z "$__openagent_saved" ] || return "$1"
	__openagent_saved=1
	(
		unset -f builtin # a function of this name would never end what follows
		trap '' XFSZ
		ulimit -S -f 4096
		set +eux +C
		builtin pwd >@folder@
		{
			builtin shopt -p
			builtin set +o | while IFS= builtin read -r __openagent_line; do
				case $__openagent_line in
				*errexit | *nounset | *noexec | *pipefail | *onecmd | *xtrace | *verbose | *noclobber | *privileged | *posix | *history | *monitor) ;;
				*) builtin printf '%s\n' "$__openagent_line" ;;
				esac
			done
			builtin umask -p
			builtin alias -p
			builtin compgen -A function | while IFS= builtin read -r __openagent_name; do
				case $__openagent_name in
				__openagent_*) ;;
				*) builtin declare -f -- "$__openagent_name" ;;
				esac
			done
			builtin declare -Fx
			builtin compgen -v | while IFS= builtin read -r __openagent_name; do
				case $__openagent_name in
				_ | __openagent_* | BASH* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | HISTCMD | LINENO | OPENAGENT_JOB@unsaved@ | OPTIND | PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SRANDOM | UID) ;;
				*) builtin declare -p -- "$__openagent_name" ;;
				esac
			done
			builtin printf '# complete\n'
		} >@save@
	)
	return "$1"
}
__openagent_saved=
trap '{ __openagent_save $?; } 2>/dev/null' EXIT
shopt -s expand_aliases
[ ! -e @state@ ] || . @state@ 2>/dev/null
