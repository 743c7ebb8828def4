package trail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// visit is one member that follows another.
type visit struct {
	url   string
	http  *http.Client
	trace trace.TraceID
	span  trace.SpanID
}

func newVisit(url string) *visit {
	v := &visit{url: url, http: &http.Client{Transport: &http.Transport{}}}
	_, _ = rand.Read(v.trace[:]) // never fails
	_, _ = rand.Read(v.span[:])
	return v
}

// make makes the visit, and returns when the followed member was notified.
func (v *visit) make(ctx context.Context, run string) error {
	followed, follower := run+"-followed", run+"-follower"
	herToken, err := v.signIn(ctx, followed)
	if err != nil {
		return err
	}
	hisToken, err := v.signIn(ctx, follower)
	if err != nil {
		return err
	}
	stream, err := v.ask(ctx, http.MethodGet, "/api/notifications/stream?tab="+url.QueryEscape(followed), herToken, "", nil)
	if err != nil {
		return err
	}
	defer stream.Body.Close() //nolint:errcheck // a stream is left, not read to its end
	parent := fmt.Sprintf("00-%s-%s-01", v.trace, v.span)
	answer, err := v.ask(ctx, http.MethodPost, "/api/members/"+url.PathEscape(followed)+"/follow", hisToken, parent, nil)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		if lines.Text() == "event: notification" {
			return nil
		}
	}
	return fmt.Errorf("the stream ended without the notification: %w", errors.Join(lines.Err(), ctx.Err()))
}

func (v *visit) signIn(ctx context.Context, member string) (token string, err error) {
	answer, err := v.ask(ctx, http.MethodPost, "/api/login", "", "", map[string]string{"memberId": member})
	if err != nil {
		return "", err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	var told struct{ Token string }
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&told); err != nil || told.Token == "" {
		return "", errors.Join(errors.New("the sign-in brought no token"), err)
	}
	return told.Token, nil
}

// ask repeats a request until it succeeds, or ctx ends; the crowd before it may have
// left the office busy. The caller closes the body.
func (v *visit) ask(ctx context.Context, method, path, token, parent string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	route, _, _ := strings.Cut(path, "?")
	for refusal := ""; ; {
		r, err := http.NewRequestWithContext(ctx, method, v.url+path, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "application/json, text/event-stream")
		if parent != "" {
			r.Header.Set("Traceparent", parent)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := v.http.Do(r)
		switch {
		case err != nil && refusal != "" && ctx.Err() != nil:
			return nil, fmt.Errorf("%s %s: %s until the end", method, route, refusal)
		case err != nil:
			return nil, fmt.Errorf("%s %s: %w", method, route, err)
		case answer.StatusCode < http.StatusMultipleChoices:
			return answer, nil
		}
		refusal = answer.Status
		if err := answer.Body.Close(); err != nil {
			return nil, err
		}
		if answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode < http.StatusInternalServerError {
			return nil, fmt.Errorf("%s %s: %s", method, route, refusal)
		}
		if crowd.Sleep(ctx, 200*time.Millisecond) != nil {
			return nil, fmt.Errorf("%s %s: %s until the end", method, route, refusal)
		}
	}
}
