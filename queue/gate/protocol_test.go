package gate_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/gate"
)

// careful is a site that uses the rarer parts of HTTP.
func careful() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /style.css", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /hints", func(w http.ResponseWriter, _ *http.Request) {
		for _, link := range []string{"</a.css>; rel=preload; as=style", "</b.js>; rel=preload; as=script"} {
			w.Header().Set("Link", link)
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "hinted") // the client tells
	})
	mux.HandleFunc("GET /trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "summed") // the client tells
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "seven")
		w.Header().Set(http.TrailerPrefix+"X-Late", "told at the end")
	})
	mux.HandleFunc("POST /strict", func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 10 {
			w.WriteHeader(http.StatusRequestEntityTooLarge) // before any of the body has come
			return
		}
		text, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v", text, err)
	})
	mux.HandleFunc("/told", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", r.Header.Get("X-Long"))
		w.Header()["X-Twice"] = r.Header["X-Twice"]
		fmt.Fprintf(w, "%s %s %q", r.Method, r.Host, r.Header.Get("Accept-Encoding"))
	})
	return mux
}

// The rarer parts of HTTP pass the gate as they are.
func TestProtocolAsWithout(t *testing.T) {
	site := newBeside(t, careful())
	site.both(t, "early hints", func(t *testing.T, client *http.Client, at string) string {
		var hints []string
		r := request(t, "GET", at+"/hints", nil)
		r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(status, h.Get("Link")))
			return nil
		}}))
		out := get(t, client, r)
		require.Len(t, hints, 2)
		return fmt.Sprint(hints, out)
	})
	site.both(t, "trailers of an answer", func(t *testing.T, client *http.Client, at string) string {
		out := get(t, client, request(t, "GET", at+"/trailers", nil))
		require.Contains(t, out, "X-Sum:[seven]")
		require.Contains(t, out, "X-Late:[told at the end]")
		return out
	})
	for body, sent := range map[string]bool{"short": true, "far too long a body": false} {
		site.both(t, "an upload that asks first: "+body, func(t *testing.T, client *http.Client, at string) string {
			conn, answer := asksFirst(t, client, at, body)
			if answer.StatusCode == http.StatusContinue {
				require.True(t, sent, "the site has refused the upload")
				_, err := io.WriteString(conn, body)
				require.NoError(t, err)
			}
			for answer.StatusCode == http.StatusContinue { // the gate's own, and the site's if that comes later
				var err error
				answer, err = http.ReadResponse(conn.in, nil)
				require.NoError(t, err)
			}
			defer answer.Body.Close() //nolint:errcheck // read to its end
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			return fmt.Sprint(answer.StatusCode, string(text))
		})
	}
	site.both(t, "long and repeated headers", func(t *testing.T, client *http.Client, at string) string {
		r := request(t, "GET", at+"/told", nil)
		r.Header.Set("X-Long", strings.Repeat("a long one ", 6000)) // 66 KB
		r.Header["X-Twice"] = []string{"one", "two, three"}
		return get(t, client, r)
	})
	site.both(t, "methods", func(t *testing.T, client *http.Client, at string) string {
		out := ""
		for _, method := range []string{"HEAD", "PUT", "PATCH", "DELETE", "PROPFIND"} {
			out += get(t, client, request(t, method, at+"/told", nil))
		}
		return out
	})
	site.both(t, "the host that was asked for", func(t *testing.T, client *http.Client, at string) string {
		r := request(t, "GET", at+"/told", nil)
		r.Host = "shop.example:8443"
		for _, c := range client.Jar.Cookies(r.URL) {
			r.AddCookie(c) // the jar goes by the host that was asked for
		}
		client.Jar = nil
		return get(t, client, r)
	})
	require.Positive(t, site.gate.Stats().Inside)
}

// raw is a connection whose answers are read one by one.
type raw struct {
	net.Conn
	in *bufio.Reader
}

// asksFirst sends the head of an upload that waits for the site's consent, and returns
// the first answer.
func asksFirst(t *testing.T, client *http.Client, at, body string) (raw, *http.Response) {
	t.Helper()
	home, err := url.Parse(at)
	require.NoError(t, err)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", home.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	var cookies []string
	for _, c := range client.Jar.Cookies(home) {
		cookies = append(cookies, c.String())
	}
	_, err = fmt.Fprintf(conn, "POST /strict HTTP/1.1\r\nHost: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\nCookie: %s\r\n\r\n", home.Host, len(body), strings.Join(cookies, "; "))
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return raw{conn, in}, answer
}

// A program that serves the gate with TLS has HTTP/2 for its visitors; the site behind
// it may have HTTP/1.1 only.
func TestOverHTTP2(t *testing.T) {
	bare := httptest.NewServer(careful())
	t.Cleanup(bare.Close)
	at, err := url.Parse(bare.URL)
	require.NoError(t, err)
	s := newSite(t, queue.Config{Threshold: 1}, func(c *gate.Config) { c.Origin, c.Transport = at, nil })
	gated := httptest.NewUnstartedServer(s.handler)
	gated.EnableHTTP2 = true
	gated.StartTLS()
	t.Cleanup(gated.Close)
	client := visitorBy(t, gated.URL, gated.Client().Transport.(*http.Transport))
	answer, err := client.Do(request(t, "GET", gated.URL+"/trailers", nil))
	require.NoError(t, err)
	defer answer.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0 200 OK summed seven", fmt.Sprint(answer.Proto, " ", answer.Status, " ", string(text), " ", answer.Trailer.Get("X-Sum")))
	require.EqualValues(t, 2, s.gate.Stats().Inside)
}

// zeros reads as a long body that no process stores.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	clear(p[:n])
	z.left -= n
	return n, nil
}

// 100 MB pass in each direction, and the whole process allocates a small part of that:
// the gate stores no body.
func TestLargeBodiesInBoundedMemory(t *testing.T) {
	const most = large / 4
	site := newBeside(t, untouched(t, nil))
	client := visitor(t, site.gated.URL)
	of := func(play func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		play()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	require.Less(t, of(func() {
		answer, err := client.Do(request(t, "GET", site.gated.URL+"/large", nil))
		require.NoError(t, err)
		defer answer.Body.Close() //nolint:errcheck // read to its end
		n, err := io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.EqualValues(t, large, n)
	}), uint64(most), "bytes allocated by a download")
	sum := sha256.New()
	_, err := io.Copy(sum, &zeros{large})
	require.NoError(t, err)
	require.Less(t, of(func() {
		got := get(t, client, request(t, "POST", site.gated.URL+"/upload", &zeros{large}))
		require.Contains(t, got, fmt.Sprintf("%d %x [chunked] <nil>", large, sum.Sum(nil)))
	}), uint64(most), "bytes allocated by an upload in chunks")
}
