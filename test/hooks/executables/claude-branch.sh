#!/bin/sh
# SessionStart and UserPromptSubmit: plain text is context; a prompt that holds a secret is blocked.
input=$(cat)
case $input in
*key-0badcafe*)
    echo "No secrets in prompts, please." >&2
    exit 2
    ;;
*'"hook_event_name":"SessionStart"'*) echo "The branch is main." ;;
*) echo "The tree is clean." ;;
esac
