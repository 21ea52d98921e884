#!/bin/sh
# pre_tool_use, as a worker: charts are never deleted. A line for each call, a line for each answer; the
# program ends when there are no more lines.
while IFS= read -r line; do
    id=${line#'{"id":'}
    id=${id%%,*}
    case $line in
    *'"name":"bash"'*'rm '*'charts/'*)
        result='{"power":"block","reason":"Charts are never deleted."}'
        ;;
    *) result='{"power":"observe"}' ;;
    esac
    printf '{"id":%s,"result":%s}\n' "$id" "$result"
done
