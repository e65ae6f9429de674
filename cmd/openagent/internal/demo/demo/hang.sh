# hang.sh - never ends: a program that waits for another one
sleep 600 &
echo "waiting in process $$ for process $!"
wait
