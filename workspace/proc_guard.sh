# $1 mark of our jobs in their environment, $2 control group or "", $3 folder of temporary files or ""
trap '' HUP INT QUIT TERM PIPE
groups=' '
while read -r what id; do
	case $what in
	+) groups="$groups$id " ;;
	-) case $groups in *" $id "*) groups="${groups%%" $id "*} ${groups#*" $id "}" ;; esac ;;
	q) exit 0 ;;
	esac
done
[ -z "$2" ] || echo 1 >"$2/cgroup.kill"
for id in $groups; do kill -KILL -- "-$id"; done
tries=0
while [ "$tries" -lt 50 ]; do
	tries=$((tries + 1))
	if [ -e /proc/self/environ ]; then
		pids=$(grep -lsF -e "$1" /proc/[0-9]*/environ | sed 's|^/proc/||; s|/.*||')
	else
		pids=$(ps -axEww -o pid=,command= | grep -F -e "$1" | grep -v -F -e 'grep -F' -e 'guard ' | sed 's/^ *//; s/ .*//')
	fi
	[ -n "$pids" ] || break
	for id in $pids; do kill -KILL "$id"; done
done
[ -z "$2" ] || rmdir "$2"/* "$2"
[ -z "$3" ] || rm -rf -- "$3"
