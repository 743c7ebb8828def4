package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// FirstLine waits for the first line that the child prints.
func (p *Process) FirstLine(ctx context.Context) (string, error) {
	select {
	case <-p.out.first:
		return p.out.text, nil // written before first was closed, and never again
	case <-p.done:
	case <-ctx.Done():
		return "", fmt.Errorf("launch: %s printed nothing: %w", p.name, ctx.Err())
	}
	select {
	case <-p.out.first: // its last one as well
		return p.out.text, nil
	default:
		return "", p.ended()
	}
}

// Wait waits until the child has ended. An end other than exit status 0 is an error.
func (p *Process) Wait() error {
	if <-p.done; p.err != nil {
		return fmt.Errorf("launch: %s ended with %w\n%s", p.name, p.err, p.Tail())
	}
	return nil
}

// Until tries again until try succeeds. If the child ends instead, the error has its
// last output. what completes "is not …".
func (p *Process) Until(ctx context.Context, what string, try func(ctx context.Context) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-p.done:
			stop()
		case <-running.Done():
		}
	}()
	err := Until(running, try)
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil:
		return p.ended()
	}
	return fmt.Errorf("launch: %s is not %s: %w\n%s", p.name, what, err, p.Tail())
}

// Until tries again until try succeeds, or ctx ends: then it returns the last error that
// has another cause.
func Until(ctx context.Context, try func(ctx context.Context) error) error {
	last := errors.New("not asked yet")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}

// Ready waits until url answers 200.
func (p *Process) Ready(ctx context.Context, url string) error {
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return p.Until(ctx, "ready", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("launch: %w", err)
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", res.Status)
		}
		return nil
	})
}

// Listens waits until the child accepts connections at an address.
func (p *Process) Listens(ctx context.Context, addr string) error {
	return p.Until(ctx, "listening", func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func (p *Process) ended() error {
	return fmt.Errorf("launch: %s ended early (%s):\n%s", p.name, p.End(), p.Tail())
}
