package artist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// UpstreamConfig of an [Upstream].
type UpstreamConfig struct {
	// URL of the API, without /artists; required.
	URL string
	// Transport makes the calls of a priority, and waits as long as needed for the
	// budget of each; required. See [Budget]. It bounds the time until an answer begins.
	// An error that it marks as infrastructure (fault) means that the budget cannot be
	// asked: the consumer pauses.
	Transport func(p event.Priority) http.RoundTripper
	// Timeout bounds how long an answer may take from its beginning to its last
	// byte; 5 s when zero.
	Timeout time.Duration
	// Instance names this process to the upstream; no name when empty.
	Instance string
	// MaxBody bounds a document, unpacked, in bytes; 1,048,576 when zero.
	MaxBody int64
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

// Upstream is the client of the artists' API. It is safe for concurrent use.
type Upstream struct {
	cfg       UpstreamConfig
	high, low *http.Client

	waiting sync.Map // of cancel functions: the calls that wait for the budget

	mu    sync.Mutex
	until time.Time // the API wants no call before
}

const (
	// defaultRest is the pause after a 429 without a Retry-After.
	defaultRest = time.Second
	// maxRest bounds the upstream's Retry-After.
	maxRest = 5 * time.Minute
)

var errTimeout = errors.New("it did not answer in time")

// NewUpstream makes a client. It does no I/O.
func NewUpstream(cfg UpstreamConfig) (*Upstream, error) {
	u, err := kit.ParseURL(cfg.URL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, errors.New("artist: URL is no http or https URL; write http://host:port")
	case cfg.Transport == nil:
		return nil, errors.New("artist: Transport is nil; give one that spends the budget")
	case cfg.Timeout < 0 || cfg.MaxBody < 0:
		return nil, errors.New("artist: Timeout and MaxBody must not be negative; use 0 for the defaults")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Second)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, 1<<20)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.URL = strings.TrimRight(cfg.URL, "/")
	client := func(p event.Priority) *http.Client {
		return &http.Client{
			Transport: cfg.Transport(p),
			// A redirect would be a second call.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &Upstream{cfg: cfg, high: client(event.High), low: client(event.Low)}, nil
}

// Fetch gets an artist. The error's class decides the retry: a 5xx, a failing
// connection and a late answer are transient, other answers are permanent, and a 429
// and a budget that cannot be asked are infrastructure.
func (u *Upstream) Fetch(ctx context.Context, p event.Priority, id string) (Document, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u.waiting.Store(&cancel, nil)
	defer u.waiting.Delete(&cancel)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { u.waiting.Delete(&cancel) }})
	if err := u.resting(); err != nil {
		return Document{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.cfg.URL+"/artists/"+url.PathEscape(id), nil)
	if err != nil {
		return Document{}, fmt.Errorf("artist: fetch %s: %w", id, fault.MarkPermanent(err))
	}
	req.Header.Set("X-Priority", label(p))
	if u.cfg.Instance != "" {
		req.Header.Set("X-Instance", u.cfg.Instance)
	}
	client := u.low
	if p == event.High {
		client = u.high
	}
	res, err := client.Do(req)
	if err != nil {
		return Document{}, u.noAnswer(ctx, id, err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read as far as it is of use
	late := time.AfterFunc(u.cfg.Timeout, func() { cancel(errTimeout) })
	defer late.Stop()
	if res.StatusCode != http.StatusOK {
		return Document{}, u.refused(id, res)
	}
	return u.document(ctx, id, res)
}

// noAnswer judges a call that failed before there was an answer, or in it.
func (u *Upstream) noAnswer(ctx context.Context, id string, err error) error {
	var resting *Failure
	switch {
	case errors.As(context.Cause(ctx), &resting):
		return resting
	case errors.Is(context.Cause(ctx), errTimeout):
		err = errTimeout
	case ctx.Err() != nil:
		return ctx.Err() // the caller's own doing
	case fault.Of(err) == fault.Infrastructure:
		return &Failure{Reason: NoBudget, err: fmt.Errorf("artist: fetch %s: %w", id, err)}
	}
	return &Failure{Reason: API5XX, err: fault.MarkTransient(fmt.Errorf("artist: fetch %s: the upstream: %w", id, err))}
}

// refused judges an answer other than 200.
func (u *Upstream) refused(id string, res *http.Response) error {
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be kept
	f := &Failure{Status: res.StatusCode, err: fmt.Errorf("artist: fetch %s: the upstream answers %d", id, res.StatusCode)}
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		f.Reason = Limited
		f.err = fault.MarkInfrastructure(fmt.Errorf("%w; no calls for %v", f.err, u.rest(res.Header)))
	case res.StatusCode >= 500:
		f.Reason, f.err = API5XX, fault.MarkTransient(f.err)
	case res.StatusCode >= 400:
		f.Reason, f.err = API4XX, fault.MarkPermanent(f.err)
	default:
		f.Reason, f.err = ParseError, fault.MarkPermanent(f.err)
	}
	return f
}

// document reads the answer.
func (u *Upstream) document(ctx context.Context, id string, res *http.Response) (Document, error) {
	body := &noting{r: res.Body}
	d, err := Extract(body, u.cfg.MaxBody, id)
	switch {
	case err == nil:
		return d, nil
	case body.err != nil: // a broken connection, and no malformed document
		return Document{}, u.noAnswer(ctx, id, body.err)
	}
	return Document{}, &Failure{Reason: ParseError, Status: http.StatusOK, err: fault.MarkPermanent(err)}
}

// noting remembers how reading failed.
type noting struct {
	r   io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	k, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return k, err
}

// rest records that the API wants no calls for a while, and how long. It ends the calls that
// wait for the budget.
func (u *Upstream) rest(h http.Header) time.Duration {
	wait := min(retryAfter(h.Get("Retry-After")), maxRest)
	u.mu.Lock()
	began := time.Now().After(u.until)
	if until := time.Now().Add(wait); until.After(u.until) {
		u.until = until
	}
	u.mu.Unlock()
	if err := u.resting(); err != nil {
		for cancel := range u.waiting.Range {
			(*cancel.(*context.CancelCauseFunc))(err) // Fetch stores no other
		}
	}
	if began {
		u.cfg.Logger.Error("the upstream says that its limit was exceeded; no calls until it is over", "wait", wait)
	}
	return wait
}

// resting refuses while the API wants no calls: each would lengthen the ban.
func (u *Upstream) resting() error {
	u.mu.Lock()
	left := time.Until(u.until)
	u.mu.Unlock()
	if left <= 0 {
		return nil
	}
	err := fmt.Errorf("artist: the upstream wants no calls for another %v", left.Round(time.Millisecond))
	return &Failure{Reason: Limited, err: fault.MarkInfrastructure(err)}
}

// retryAfter reads seconds or a date.
func retryAfter(h string) time.Duration {
	if s, err := strconv.Atoi(h); err == nil && s >= 0 {
		return time.Duration(min(s, int(maxRest/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(h); err == nil {
		return max(time.Until(at), 0)
	}
	return defaultRest
}
