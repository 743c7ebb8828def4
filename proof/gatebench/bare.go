package gatebench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// PartBare is the first argument of this program when it is Go's own reverse proxy.
const PartBare = "gate-bare"

// TakeBare is the main function of Go's reverse proxy with nothing in it, at the address
// before the origin. It shows what any proxy on net/http costs.
func TakeBare(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s has %d arguments; give an address and that of the origin", PartBare, len(args))
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", args[0])
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(&url.URL{Scheme: "http", Host: args[1]}) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true},
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: startTimeout}
	defer context.AfterFunc(ctx, func() {
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(ended) // what is under way ends with the process
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
