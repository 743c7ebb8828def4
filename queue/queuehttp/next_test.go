package queuehttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/queue/queuehttp"
)

func TestSafeNext(t *testing.T) {
	for _, good := range []string{
		"/", "/events/show-1", "/events/show-1?from=queue&x=//y", "/events/show-1#seats", "/%EC%87%BC/1", "/a%20b", "/a%2Fb", "/a%25252Fb", "/a/", "/@alice", "/a:b", "/...", "/?next=https://evil.test/",
	} {
		if got, ok := queuehttp.SafeNext(good); !ok || got != good {
			t.Errorf("%q is refused: %q, %v", good, got, ok)
		}
	}
	for _, bad := range []string{
		"", "events", "//evil.test", "///evil.test", "/\\evil.test", "\\/evil.test", "/\\/evil.test", "/a//evil.test", "/a\\b",
		"https://evil.test", "https:evil.test", "HTTPS://evil.test", "javascript:alert(1)", "data:text/html,x", "http:/evil.test", " /a", "\t/a",
		"/\t/evil.test", "/\n/evil.test", "/\r\nSet-Cookie: a=b", "/a b", "/a\x00", "/a\x7f", "/\u2028", "/쇼", "/／evil.test",
		"/%2f/evil.test", "/%2Fevil.test/", "/%5cevil.test", "/%5Cevil.test", "/%09/evil.test", "/%0d%0aSet-Cookie:a=b", "/%00", "/%7f",
		"/%252f%252fevil.test", "/%252fevil.test", "/%255cevil.test", "/%25252fevil.test", "/%2525252fevil.test", "/%25%32%66evil.test", "/a%2525252Fb",
		"/..//evil.test", "/../a", "/./a", "/a/..", "/.", "/%2e%2e/%2fevil.test", "/%2e%2e/a", "/%252e%252e/a",
		"/%", "/%zz", "/%2", "/a?b=\\c", "/a?b\x01", "/#%0X", "/" + strings.Repeat("a", 2048),
	} {
		if got, ok := queuehttp.SafeNext(bad); ok || got != "" {
			t.Errorf("%q is taken: %q", bad, got)
		}
	}
}

// An accepted target stays on the site: as a link, as a redirect, and after
// unescaping once more.
func FuzzSafeNext(f *testing.F) {
	for _, s := range []string{"/", "//evil.test", "/\\evil.test", "/%2f%2fevil.test", "/a/../b", "/%25%35%63x", "/a?b#c", "/%252fevil", "https://evil.test"} {
		f.Add(s)
	}
	base, err := url.Parse("https://shop.test/queue/show-1")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, s string) {
		next, ok := queuehttp.SafeNext(s)
		if !ok {
			require.Equalf(t, "", next, "%q is refused, and is %q", s, next)
			return
		}
		require.Equalf(t, s, next, "%q became %q", s, next)
		w := httptest.NewRecorder()
		http.Redirect(w, httptest.NewRequest("GET", "https://shop.test/queue/show-1", nil), next, http.StatusSeeOther)
		for _, form := range []string{next, w.Header().Get("Location")} {
			for again := range 4 {
				// A browser takes \ for /, and drops invisible characters.
				seen := strings.Map(func(r rune) rune {
					switch r {
					case '\t', '\n', '\r':
						return -1
					case '\\':
						return '/'
					}
					return r
				}, form)
				to, err := base.Parse(seen)
				if err != nil && again > 0 {
					break // it leads nowhere
				}
				if err != nil || to.Scheme != "https" || to.Host != "shop.test" || to.User != nil || strings.HasPrefix(seen, "//") {
					t.Fatalf("%q leads to %v (%v) as %q", s, to, err, seen)
				}
				path, rest, _ := strings.Cut(form, "?")
				if path, err = url.PathUnescape(path); err != nil {
					break
				}
				if form = path; rest != "" {
					form += "?" + rest
				}
			}
		}
	})
}
