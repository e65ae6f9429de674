# flood.sh - writes 20 MB: 400,000 lines of 50 bytes
awk 'BEGIN { for (i = 1; i <= 400000; i++) printf "line %07d ....................................\n", i }'
