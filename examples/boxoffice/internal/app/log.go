package app

import (
	"log"
	"log/slog"
)

// slogErrors gives the HTTP server's own complaints (a broken handshake, a
// client that talks nonsense) to the logger, below what wakes anybody.
func slogErrors(l *slog.Logger) *log.Logger {
	return slog.NewLogLogger(l.Handler(), slog.LevelDebug)
}
