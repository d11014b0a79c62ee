#!/usr/bin/env bash
# Runs a test on the stand-ins, which say at its end what of theirs is left: nothing may be.
set -euo pipefail
left=$(mktemp)
trap 'rm -f "$left"' EXIT
CUDA_STANDIN_LEAKS=$left "$@"
if [[ -s $left ]]; then
  echo "left at the end:"
  sort "$left" | uniq -c
  exit 1
fi
