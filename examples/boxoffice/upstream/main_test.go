package upstream

import (
	"bytes"
	"context"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigErrors(t *testing.T) {
	for name, cfg := range map[string]Config{
		"BodyBytes":   {BodyBytes: minBody - 1},
		"BodyBytes 1": {BodyBytes: 16_000_001},
		"Limit":       {Limit: -1},
		"BanFor":      {BanFor: -1},
		"DailyBudget": {DailyBudget: -1},
		"Latency":     {Latency: -1},
		"Jitter":      {Jitter: -1},
		"ReviseEvery": {ReviseEvery: time.Millisecond},
		"LogCalls":    {LogCalls: -1},
	} {
		u, err := New(cfg)
		if u != nil || err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMainServesAndDrains(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := boxtest.NewFirstLine()
	var stderr bytes.Buffer
	exit := make(chan int, 1)
	go func() {
		exit <- Main(ctx, []string{"--body-bytes", "4000", "--latency", "10m", "--limit", "9"}, out, &stderr)
	}()
	var url string
	select {
	case url = <-out.Line:
	case code := <-exit:
		t.Fatalf("exit %d: %s", code, &stderr)
	}
	assert.Truef(t, strings.HasPrefix(url, "http://127.0.0.1:"), "it serves on %s", url)
	defer http.DefaultClient.CloseIdleConnections()
	type result struct {
		code int
		body []byte
		err  error
	}
	answered := make(chan result, 1)
	go func() {
		code, body, _, err := get(context.Background(), http.DefaultClient, url+"/artists/1")
		answered <- result{code, body, err}
	}()
	for { // until the call waits for its latency
		_, stats, _, err := get(t.Context(), http.DefaultClient, url+"/_/stats")
		require.NoError(t, err)
		if bytes.Contains(stats, []byte(`"limit":9`)) && bytes.Contains(stats, []byte(`"queue":{"count":1`)) {
			break
		}
		select {
		case r := <-answered:
			t.Fatalf("answered early: %+v", r)
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	if r := <-answered; r.err != nil || r.code != 200 || len(r.body) != 4000 {
		t.Errorf("a running request was cut: %d, %d bytes, %v", r.code, len(r.body), r.err)
	}
	if code := <-exit; code != 0 {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

func TestMainErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"flag":    {[]string{"--wrong"}, 2, "wrong"},
		"extra":   {[]string{"now"}, 2, "now"},
		"size":    {[]string{"--body-bytes", "10"}, 2, "--body-bytes 10 is out of range: use 2000"},
		"zero":    {[]string{"--body-bytes", "0"}, 2, "--body-bytes"},
		"limit":   {[]string{"--limit", "0"}, 2, "--limit 0 is out of range: use 1"},
		"ban":     {[]string{"--ban-for", "0s"}, 2, "--ban-for"},
		"budget":  {[]string{"--daily-budget", "0"}, 2, "--daily-budget"},
		"latency": {[]string{"--latency", "-1s"}, 2, "--latency"},
		"jitter":  {[]string{"--jitter", "-1s"}, 2, "--jitter"},
		"revise":  {[]string{"--revise-every", "5ms"}, 2, "--revise-every"},
		"log":     {[]string{"--log-calls", "0"}, 2, "--log-calls"},
		"address": {[]string{"--addr", "256.0.0.1:0"}, 1, "256.0.0.1"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(t.Context(), c.args, &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.says) || stdout.Len() != 0 {
			t.Errorf("%s: exit %d, %q, %q", name, code, stderr.String(), stdout.String())
		}
	}
	var help bytes.Buffer
	if code := Main(t.Context(), []string{"--help"}, &help, &help); code != 0 || !strings.Contains(help.String(), "-ban-for") {
		t.Errorf("help: exit %d, %q", code, help.String())
	}
}

// A listener that fails ends Serve with its error.
func TestServeReportsAFailingListener(t *testing.T) {
	u := open(t, Config{})
	ln := listen(t)
	require.NoError(t, ln.Close())
	assert.ErrorIs(t, u.Serve(t.Context(), ln), net.ErrClosed)
}
