package limitproof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/command"
)

// The first arguments that make the command its own upstream, or one of its workers.
const (
	upstreamRole = "upstream"
	workerRole   = "worker"
)

// work is a worker: it prints its URL and does a job for each POST, one at a
// time, until it is asked to stop.
func work(ctx context.Context, stdout, stderr io.Writer) int {
	logging.Disable() // the client's own log about an unreachable server
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "limit-proof worker:", err)
		return command.Broken
	}
	server := &http.Server{
		Handler: http.HandlerFunc(serveJob), ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	_, _ = fmt.Fprintf(stdout, "http://%s\n", ln.Addr())
	select {
	case err = <-ended:
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*grace)
		defer cancel()
		if err = server.Shutdown(drain); err == nil {
			err = <-ended
		}
	}
	if !errors.Is(err, http.ErrServerClosed) {
		_, _ = fmt.Fprintln(stderr, "limit-proof worker:", errors.Join(err, server.Close()))
		return command.Broken
	}
	return command.OK
}

func serveJob(w http.ResponseWriter, r *http.Request) {
	var j job
	if err := json.NewDecoder(r.Body).Decode(&j); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d, err := perform(r.Context(), j)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // the parent may be gone
}
