package app

import (
	"log"
	"log/slog"
)

// slogErrors sends the HTTP server's own complaints (a broken handshake, a malformed
// request) to the logger, below the levels that alert an operator.
func slogErrors(l *slog.Logger) *log.Logger {
	return slog.NewLogLogger(l.Handler(), slog.LevelDebug)
}
