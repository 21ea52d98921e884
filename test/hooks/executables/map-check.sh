#!/bin/sh
# turn_ending: sends the model back once, as long as it has drawn no map.
input=$(cat)
case $input in
*'"continuations":0'*) echo '{"power":"continue","context":"Draw the map first."}' ;;
*) echo '{"power":"observe"}' ;;
esac
