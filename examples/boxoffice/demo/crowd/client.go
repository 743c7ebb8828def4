package crowd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// maxAnswer bounds the bytes read of an answer; a show's 500 seats are 25 kB.
const maxAnswer = 4 << 20

// errLost means that a request which must not be repeated blindly got no answer.
var errLost = errors.New("the connection broke before the answer came")

// StatusError is an answer that the caller did not expect.
type StatusError struct {
	Method, Path string
	Code         int
	Detail       string // the problem's detail, or the start of the body
}

// Error names the request, the status and the server's text.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s answered %d: %s", e.Method, e.Path, e.Code, e.Detail)
}

// Client calls a box office, and repeats unanswered requests. It is safe for
// concurrent use.
type Client struct {
	URL      string   // without a slash at the end
	Others   []string // more processes of the same box office; requests take turns
	HTTP     *http.Client
	Patience time.Duration // how long one call is repeated
	Meter    *Meter        // optional

	turn atomic.Uint64
}

// next is the next process in turn, as a load balancer would choose.
func (c *Client) next() string {
	n := c.turn.Add(1) % uint64(len(c.Others)+1)
	if n == 0 {
		return c.URL
	}
	return c.Others[n-1]
}

// Call is one request.
type Call struct {
	Step         string // the meter's name of it
	Method, Path string
	Token        string // sign-in
	Entry        string // that the waiting room has let in
	Ticket       string // of the place in its line
	Key          string // Idempotency-Key
	Body         any
	Once         bool  // do not repeat when the answer was lost
	Sent         *int  // optional: counts how often it was sent
	Accept       []int // statuses besides 2xx that are answers, not errors
}

// Do sends a call until it is answered, for as long as the client's patience
// lasts: broken connections, 429, 502, 503 and 504 are tried again. A 2xx body
// is decoded into into, when that is not nil. It returns the status; any that
// is neither 2xx nor accepted is a [*StatusError] too.
func (c *Client) Do(ctx context.Context, call Call, into any) (int, error) {
	var body []byte
	if call.Body != nil {
		var err error
		if body, err = json.Marshal(call.Body); err != nil {
			return 0, fmt.Errorf("crowd: marshal the body of %s: %w", call.Path, err)
		}
	}
	deadline := time.Now().Add(c.Patience)
	wait := 20 * time.Millisecond
	for {
		if call.Sent != nil {
			*call.Sent++
		}
		code, retryAfter, answer, err := c.once(ctx, call, body)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			c.count(countLost)
			if call.Once {
				return 0, fmt.Errorf("%s %s: %w (%w)", call.Method, call.Path, errLost, err)
			}
		case code == 429 || code == 502 || code == 503 || code == 504:
			c.count(countBusy)
			wait = max(wait, retryAfter)
			err = &StatusError{call.Method, call.Path, code, detail(answer)}
		default:
			return code, c.judge(call, code, answer, into)
		}
		if time.Now().Add(wait).After(deadline) {
			return 0, fmt.Errorf("no answer within %v: %w", c.Patience, err)
		}
		if err := Sleep(ctx, wait/2+rand.N(wait)); err != nil {
			return 0, err
		}
		wait = min(wait*2, 500*time.Millisecond)
	}
}

func (c *Client) judge(call Call, code int, answer []byte, into any) error {
	if code >= 200 && code < 300 {
		if into == nil {
			return nil
		}
		if err := json.Unmarshal(answer, into); err != nil {
			return fmt.Errorf("%s %s: the answer is not what the contract says: %w", call.Method, call.Path, err)
		}
		return nil
	}
	if slices.Contains(call.Accept, code) {
		return nil
	}
	return &StatusError{call.Method, call.Path, code, detail(answer)}
}

// once sends the request one time and reads the whole answer.
func (c *Client) once(ctx context.Context, call Call, body []byte) (code int, retryAfter time.Duration, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, call.Method, c.next()+call.Path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "x-queue-entry-token": call.Entry, "x-queue-ticket": call.Ticket, "Idempotency-Key": call.Key,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if call.Token != "" {
		req.Header.Set("Authorization", "Bearer "+call.Token)
	}
	start := time.Now()
	res, err := c.HTTP.Do(req)
	if err != nil {
		return 0, 0, nil, err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, 0, nil, err
	}
	c.count(countAnswered)
	if c.Meter != nil && call.Step != "" {
		c.Meter.Observe(call.Step, time.Since(start))
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // absent or a date: our own pace
	return res.StatusCode, min(time.Duration(seconds)*time.Second, 2*time.Second), answer, nil
}

func (c *Client) count(name string) {
	if c.Meter != nil {
		c.Meter.Count(name)
	}
}

// detail finds the sentence in a problem document.
func detail(answer []byte) string {
	var p struct{ Detail, Title, Error string }
	if json.Unmarshal(answer, &p) == nil {
		for _, text := range []string{p.Detail, p.Error, p.Title} {
			if text != "" {
				return text
			}
		}
	}
	return string(answer[:min(len(answer), 200)])
}

// NewHTTP makes an HTTP client with keep-alive for that many connections.
func NewHTTP(connections int) *http.Client {
	return &http.Client{
		Timeout: 20 * time.Second,
		Transport: &http.Transport{
			MaxIdleConns: connections, MaxIdleConnsPerHost: connections,
			IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Sleep waits for d, or returns the context's error when that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
