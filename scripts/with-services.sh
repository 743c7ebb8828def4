#!/usr/bin/env bash
# Runs a command with the real servers up and their URLs in the environment.
# URLs that are set already are kept.
set -euo pipefail
here=$(dirname "$0")
if [ -z "${MILLRACE_POSTGRES_URL:-}" ]; then
	eval "$("$here/services.sh" up)"
fi
exec "$@"
