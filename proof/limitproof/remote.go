package limitproof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

// remote speaks HTTP with the workers and with the upstream's control routes.
// Its connections are not kept, so that no server waits for one at its end.
type remote struct{ client *http.Client }

func newRemote() remote {
	return remote{&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// perform gives a worker a job, and waits for it.
func (r remote) perform(ctx context.Context, worker string, j job) (d done, err error) {
	body, err := json.Marshal(j)
	if err != nil {
		return d, fmt.Errorf("limitproof: %w", err)
	}
	err = r.ask(ctx, http.MethodPost, worker, body, func(answer io.Reader) error { return json.NewDecoder(answer).Decode(&d) })
	return d, err
}

// reset resets the counts of the upstream.
func (r remote) reset(ctx context.Context, url string) error {
	return r.ask(ctx, http.MethodPost, url+"/_/reset", nil, func(io.Reader) error { return nil })
}

// seen returns the upstream's counts, and every call.
func (r remote) seen(ctx context.Context, url string) (s upstream.Stats, calls []upstream.Call, err error) {
	err = errors.Join(
		r.ask(ctx, http.MethodGet, url+"/_/stats", nil, func(answer io.Reader) error { return json.NewDecoder(answer).Decode(&s) }),
		r.ask(ctx, http.MethodGet, url+"/_/log", nil, func(answer io.Reader) (err error) {
			calls, err = upstream.ReadLog(answer)
			return err
		}))
	return s, calls, err
}

func (r remote) ask(ctx context.Context, method, url string, body []byte, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("limitproof: %w", err)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("limitproof: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if res.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000)) // a part is better than nothing
		return fmt.Errorf("limitproof: %s %s answers %s: %s", method, url, res.Status, text)
	}
	if err := read(res.Body); err != nil {
		return fmt.Errorf("limitproof: %s %s: %w", method, url, err)
	}
	return nil
}
