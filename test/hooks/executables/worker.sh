#!/bin/sh
# A worker that does what the command of a tool call says: worker.sh MARKS. In MARKS it writes its pid when it
# starts, in MARKS.lines what it is given, and in MARKS.end that its stdin has ended.
echo $$ >>"$1"
answer() {
    printf '{"id":%s,"result":%s}\n' "$1" "$2"
}
while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1.lines"
    id=${line#'{"id":'}
    id=${id%%,*}
    command=${line#*'"command":"'}
    command=${command%%'"'*}
    case $line in
    *'"type":"session_start"'*) command=context ;;
    *'"command":'*) ;;
    *) command=observe ;;
    esac
    result='{"power":"observe"}'
    case $command in
    context) result='{"power":"mutate","context":"'$$'"}' ;;
    pid) result='{"power":"block","reason":"'$$'"}' ;;
    deny)
        result='{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not now"}}'
        ;;
    broken) result='{"decision":"block","reason":"no",}' ;;
    exit*)
        echo "first line" >&2
        printf '%s' "${command#exit * }" >&2
        command=${command#exit }
        exit "${command%% *}"
        ;;
    die) kill -KILL $$ ;;
    hang) sleep 60 ;;
    wait*) while [ ! -e "$1.go${command#wait}" ]; do sleep 0.01; done ;;
    say*) echo "${command#say }" && continue ;;
    bytes) printf '\377\n' && continue ;;
    twice) answer "$id" "$result" ;;
    large) result=$(printf '"%065600d"' 0) ;;
    nothing) printf '{"id":%s}\n' "$id" && continue ;;
    hold)
        held=$id
        continue
        ;;
    esac
    answer "$id" "$result"
    if [ -n "$held" ]; then
        answer "$held" "$result"
        held=
    fi
done
echo end >>"$1.end"
