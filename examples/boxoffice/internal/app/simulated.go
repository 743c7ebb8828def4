package app

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

// startGateway runs the simulated payment gateway unless another one is configured, and
// returns the URL.
func startGateway(b *base, run *stages) (url string, err error) {
	if url = b.cfg.GatewayURL; url == "" && (b.cfg.Has(config.RoleWorker) || b.cfg.Has(config.RoleAPI)) {
		cfg := b.opt.Gateway
		cfg.Path = filepath.Join(b.cfg.DataDir, "gateway.db")
		g, err := gateway.New(cfg)
		if err != nil {
			return "", err
		}
		b.opened.add(g.Close)
		return run.serveGateway(g)
	}
	return url, nil
}

// startUpstream runs the simulated API of the artists on a loopback port of its
// own, unless another one is configured, and returns the URL.
func startUpstream(b *base, run *stages) (url string, err error) {
	if b.cfg.UpstreamURL != "" || !mirrors(b.cfg) || !b.cfg.Has(config.RoleWorker) {
		return b.cfg.UpstreamURL, nil
	}
	u, err := upstream.New(upstream.Config{LogCalls: 100_000}) // some minutes of it, in 2.4 MB
	if err != nil {
		return "", err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("the simulated artist API found no port: %w", err)
	}
	run.start("artist API", func(ctx context.Context) error { return u.Serve(ctx, ln) })
	return "http://" + ln.Addr().String(), nil
}
