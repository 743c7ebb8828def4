package gate

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"regexp"
	"sync"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	copySize    = 32 << 10
	// idlePerOrigin is how many connections to the origin are kept: with the two of
	// net/http a busy gate would open one for almost each request.
	idlePerOrigin = 1024
)

func (g *Gate) newProxy() *httputil.ReverseProxy {
	transport := g.cfg.Transport
	if transport == nil {
		own := &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: dialTimeout, ExpectContinueTimeout: time.Second,
			MaxIdleConnsPerHost: idlePerOrigin, IdleConnTimeout: 90 * time.Second,
			DisableCompression: true, ForceAttemptHTTP2: true,
		}
		transport, g.idle = own, own.CloseIdleConnections
	}
	return &httputil.ReverseProxy{
		Rewrite: g.rewrite, ModifyResponse: g.keepPrivate, Transport: transport, FlushInterval: -1, BufferPool: &buffers{},
		ErrorHandler: g.originFailed, ErrorLog: log.New(logged{g}, "", 0),
	}
}

// forward hands a request on to the origin, and counts it as a sign of life for as
// long as it is open.
func (g *Gate) forward(w http.ResponseWriter, q question, d decision) {
	if d.user == "" {
		g.counts.passed.Add(1)
	} else {
		g.counts.inside.Add(1)
		defer g.keepAlive(q.Context(), d.user)()
	}
	g.counts.open.Add(1)
	defer g.counts.open.Add(-1)
	to := handed{user: d.user, target: q.target}
	g.proxy.ServeHTTP(w, q.WithContext(context.WithValue(q.Context(), handedKey{}, to)))
}

// handed is a request on its way to the origin.
type handed struct{ user, target string }

type handedKey struct{}

func handedOf(ctx context.Context) handed {
	to, _ := ctx.Value(handedKey{}).(handed)
	return to
}

func (g *Gate) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(g.cfg.Origin)
	p.Out.Host = p.In.Host
	p.Out.URL.RawQuery = p.In.URL.RawQuery // as it is, also where net/url cannot read it
	p.Out.Trailer = p.In.Trailer           // the copy would stay as it is before the body has been read
	if g.cfg.Proxied {
		p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	}
	p.SetXForwarded()
	if g.cfg.Proxied {
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
			if value := p.In.Header.Get(name); value != "" {
				p.Out.Header.Set(name, value)
			}
		}
	}
	to := handedOf(p.In.Context())
	stripHeaders(p.Out.Header)
	if againHTTP.MatchString(p.Out.Header.Get("Upgrade")) {
		p.Out.Header.Del("Upgrade")
		p.Out.Header.Del("Connection") // which names nothing else by now
	}
	g.signHeaders(p.Out.Header, p.In.Method, p.In.Host, p.Out.URL.RequestURI(), to.user)
}

// againHTTP are the protocols to change a connection to whose requests no gate would
// see. A request for one goes on without it.
var againHTTP = regexp.MustCompile(`(?i)h2|http|tls`)

// originFailed answers a request whose origin gave no answer.
func (g *Gate) originFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil || errors.Is(err, http.ErrAbortHandler) {
		w.WriteHeader(http.StatusBadGateway) // the visitor has left
		return
	}
	g.counts.failed.Add(1)
	g.complain("gate: the site behind the gate does not answer", err)
	g.problem(w, http.StatusBadGateway, "origin-unreachable", "The site does not answer", "the site behind the waiting room does not answer at the moment; places are kept, ask again", 0)
}

// logged writes what net/http has to say to the gate's logger.
type logged struct{ *Gate }

func (l logged) Write(line []byte) (int, error) {
	l.complain("gate: a request could not be completed", errors.New(string(line)))
	return len(line), nil
}

// buffers are for copying bodies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, copySize)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
