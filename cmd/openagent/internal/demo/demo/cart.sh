# cart.sh - the sums of a shopping cart, in cents

# subtotal PRICE COUNT
subtotal() {
	echo $(($1 * $2))
}

# discount AMOUNT PERCENT: what is left to pay
discount() {
	echo $(($1 - $1 * $2 / 10))
}

# shipping AMOUNT: free from 50.00 up
shipping() {
	if [ "$1" -ge 5000 ]; then echo 0; else echo 490; fi
}
