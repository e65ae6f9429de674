#!/bin/sh
# A tool: "describe" says what it is, "run" does a call.
case $1 in
describe)
	cat <<-'END'
	{"title": "Tides", "description": "Tells when the tide is high at a port.", "read_only": true, "timeout_ms": 5000,
	 "input_schema": {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}}
	END
	;;
run)
	call=$(cat) # {"id": …, "name": "tides", "input": {"port": …}, …}
	echo "looking at the tables" >&2 # shown to people while it works
	case $call in
	*'"port":"Brest"'*) echo '{"text": "High at 06:12 and 18:31.", "title": "Tides at Brest"}' ;;
	*) echo '{"text": "There is no table for that port.", "is_error": true}' ;;
	esac
	;;
esac
