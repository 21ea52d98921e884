#!/bin/sh
# pre_turn: adds context when the prompt asks for the treasure.
if grep -q treasure; then
    echo '{"power":"mutate","context":"It lies under the third palm.","display":"Spotted: a palm"}'
else
    echo '{"power":"observe"}'
fi
