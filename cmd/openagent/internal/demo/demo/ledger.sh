# ledger.sh - books an order in two steps, slowly
echo $$ >ledger.pid
printf 'order 7: ' >>ledger.txt
sleep 30
echo 'paid' >>ledger.txt
