__openagent_save() {
	[ -z "$__openagent_saved" ] || return "$1"
	__openagent_saved=1
	(
		trap '' XFSZ
		ulimit -S -f 8192
		set +eux +C
		{ pwd -W 2>/dev/null || pwd; } >@folder@
		unset OPENAGENT_JOB PWD@unsaved@
		{
			printf 'umask %s\n' "$(umask)"
			export -p
			printf '# complete\n'
		} >@save@
	)
	return "$1"
}
__openagent_saved=
trap '{ __openagent_save $?; } 2>/dev/null' EXIT
[ ! -e @state@ ] || . @state@ 2>/dev/null
