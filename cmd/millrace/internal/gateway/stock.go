package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// maxStockAnswer bounds what the site may answer about its stock, in bytes.
const maxStockAnswer = 4 << 10

// stock asks the site how many visitors it can still serve.
type stock struct {
	url    string
	client http.Client
}

// newStock makes a stock of the site's URL.
func newStock(raw string) (*stock, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return nil, errors.New("gateway: Settings.Stock is no address of the site; give one such as http://127.0.0.1:3000/stock")
	}
	return &stock{url: u.String(), client: http.Client{
		Transport:     &http.Transport{ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ask is a queue.Config.Stock. Its errors show no URL: it may hold a password.
func (s *stock) ask(ctx context.Context, _ string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept", "application/json, text/plain")
	answer, err := s.client.Do(r)
	if err != nil {
		if failed, ok := err.(*url.Error); ok { //nolint:errorlint // net/http returns it as it is
			err = failed.Err
		}
		return 0, fmt.Errorf("--stock-url: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end, or of no more use
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxStockAnswer+1))
	switch {
	case err != nil:
		return 0, fmt.Errorf("--stock-url: %w", err)
	case answer.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("--stock-url answers %s; it has to answer 200", answer.Status)
	case len(text) > maxStockAnswer:
		return 0, fmt.Errorf("--stock-url answers more than %d bytes", maxStockAnswer)
	}
	return readStock(text)
}

// readStock reads a whole number, or a JSON object with the field stock.
func readStock(text []byte) (int, error) {
	var n *int64
	number := bytes.TrimSpace(text)
	if bytes.HasPrefix(number, []byte("{")) {
		var object struct {
			Stock json.RawMessage `json:"stock"`
		}
		if err := json.Unmarshal(number, &object); err != nil {
			return 0, fmt.Errorf("--stock-url answers no JSON object: %w", err)
		}
		number = object.Stock
	}
	if err := json.Unmarshal(number, &n); err != nil || n == nil || *n < 0 {
		return 0, fmt.Errorf(`--stock-url answers %.60q; it has to answer a whole number from 0, such as 480, or {"stock": 480}`, strings.TrimSpace(string(text)))
	}
	return int(min(*n, driver.MaxStock)), nil
}

// close closes the idle connections.
func (s *stock) close() {
	if s != nil {
		s.client.CloseIdleConnections()
	}
}
