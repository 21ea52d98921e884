#!/bin/sh
# session_start: adds a standing wish.
cat >/dev/null
echo '{"power":"mutate","context":"Short answers, please."}'
