package mirrorrun

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/upstream"
)

// ask gets a URL and wants 200.
func ask(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", url, res.Status, body)
	}
	return body, err
}

// witness asks the upstream for its figures.
func witness(ctx context.Context, client *http.Client, url string) (s upstream.Stats, err error) {
	body, err := ask(ctx, client, url+"/_/stats")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(body, &s)
}

// figures are the office's metrics, by series.
type figures map[string]float64

func scrape(ctx context.Context, client *http.Client, url string) (figures, error) {
	body, err := ask(ctx, client, url+"/metrics")
	if err != nil {
		return nil, err
	}
	f := figures{}
	lines := bufio.NewScanner(strings.NewReader(string(body)))
	for lines.Scan() {
		series, value, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(series, "#") {
			continue
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			f[series] = n
		}
	}
	return f, lines.Err()
}

// mean is the mean of a histogram between two scrapes; 0 without an observation.
func (f figures) mean(before figures, name, labels string) time.Duration {
	n := f[name+"_count"+labels] - before[name+"_count"+labels]
	if n == 0 {
		return 0
	}
	return time.Duration((f[name+"_sum"+labels] - before[name+"_sum"+labels]) / n * float64(time.Second))
}

// since is by how much a counter grew.
func (f figures) since(before figures, series string) float64 { return f[series] - before[series] }
