#!/usr/bin/env bash
# Vets and tests examples/googlepubsub, the module that is not in go.work, with the tree in
# place of the version of the library that it requires. The arguments are flags of go test.
#
# In go.work its requirements, some of Google's, would choose versions for all other modules.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
cd examples/googlepubsub
mod=$(mktemp -d)
trap 'rm -rf "$mod"' EXIT
cp go.mod go.sum "$mod"
go mod edit -replace=github.com/millrace-go/millrace="$tree" "$mod/go.mod"
export GOWORK=off
go vet -modfile="$mod/go.mod" ./...
go test -modfile="$mod/go.mod" "$@" ./...
