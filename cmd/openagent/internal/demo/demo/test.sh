# test.sh - the tests of cart.sh: sh test.sh
. ./cart.sh
passed=0 failed=0

# expect WANT FUNCTION ARGUMENT...
expect() {
	want=$1
	shift
	got=$("$@")
	if [ "$got" = "$want" ]; then
		passed=$((passed + 1))
		echo "ok    $*"
	else
		failed=$((failed + 1))
		echo "FAIL  $*: want $want, got $got"
	fi
}

expect 3750 subtotal 1250 3
expect 1800 discount 2000 10
expect 3750 discount 5000 25
expect 2000 discount 2000 0
expect 490 shipping 4999
expect 0 shipping 5000
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
