package gate

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/**", "/", true}, {"/**", "/a/b", true}, {"/", "/", true}, {"/", "/a", false},
		{"/a", "/a", true}, {"/a", "/a/", true}, {"/a/", "/a", true}, {"/a", "/a/b", false}, {"/a", "/A", false},
		{"/a/*", "/a/b", true}, {"/a/*", "/a/b/c", false}, {"/a/*", "/a", false}, {"/a/**", "/a", true},
		{"/**/*.css", "/x.css", true}, {"/**/*.css", "/a/b/x.css", true}, {"/**/*.css", "/x.css/y", false},
		{"/a/**/b/*c*/d", "/a/1/b/2/b/xcy/d", true}, {"/a/**/b/*c*/d", "/a/1/b/2/b/xy/d", false},
		{"/*a*a*a*a*a*b", "/" + strings.Repeat("a", 1000), false},
	} {
		p, err := parsePattern(c.pattern)
		require.NoError(t, err)
		assert.Equalf(t, c.want, p.match(segments(c.path)), "%s matches %.40s", c.pattern, c.path)
	}
}

func TestReadPath(t *testing.T) {
	for text, want := range map[string]string{
		"/": "", "/a/b": "a b", "/a//b": "a b", "/a/./b": "a b", "/a/x/../b": "a b", "/a/%2e/%62": "a b", "/a./b..": "a b", "/%EA%B0%80": "가", "/a%20b": "a b", "/100%25": "100%",
	} {
		r, err := readPath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := strings.Join(r.paths[2], " "); got != want {
			t.Errorf("%s reads as %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"", "a", "*", "/%", "/%zz", "/%4", "/a%2Fb", "/a%5cb", `/a\b`, "/%00", "/a%0ab", "/a%7f", "/%c0%ae", "/%ff", "/%252e", "/a%3Fb", "/a%23b", "/a#b",
		"/..", "/a/../../b", "/a//../b", "/a/..//b", "/...", "/a/.%20/b", "/a/..;/b", "/;x/a", "/%2e%2e%2e",
	} {
		if _, err := readPath(text); err == nil {
			t.Errorf("%q is read without doubt", text)
		}
	}
}

// origins are the ways in which programs clean a path before they look for its
// page.
var origins = map[string]func(string) (string, bool){
	"nothing": func(s string) (string, bool) { return s, true },
	"Go's path.Clean": func(s string) (string, bool) {
		u, err := url.PathUnescape(s)
		return path.Clean("/" + u), err == nil
	},
	"dots by RFC 3986": func(s string) (string, bool) {
		u, err := url.PathUnescape(s)
		return dots(u), err == nil
	},
	"dots, then escapes": func(s string) (string, bool) {
		u, err := url.PathUnescape(dots(s))
		return u, err == nil
	},
	"parameters dropped first": func(s string) (string, bool) {
		var out []string
		for part := range strings.SplitSeq(s, "/") {
			name, _, _ := strings.Cut(part, ";")
			out = append(out, name)
		}
		u, err := url.PathUnescape(strings.Join(out, "/"))
		return path.Clean("/" + u), err == nil
	},
	"Windows": func(s string) (string, bool) {
		u, err := url.PathUnescape(s)
		parts := strings.Split(path.Clean("/"+strings.ReplaceAll(u, `\`, "/")), "/")
		for i, part := range parts {
			parts[i] = strings.TrimRight(part, ". ")
		}
		return path.Clean("/" + strings.Join(parts, "/")), err == nil
	},
	"escapes twice": func(s string) (string, bool) {
		once, err := url.PathUnescape(s)
		if err != nil {
			return "", false
		}
		twice, err := url.PathUnescape(once)
		if err != nil {
			twice = once
		}
		return path.Clean("/" + twice), true
	},
	"a query within": func(s string) (string, bool) {
		u, err := url.PathUnescape(s)
		u, _, _ = strings.Cut(u, "?")
		u, _, _ = strings.Cut(u, "#")
		return path.Clean("/" + u), err == nil
	},
	"an end at zero": func(s string) (string, bool) {
		u, err := url.PathUnescape(s)
		u, _, _ = strings.Cut(u, "\x00")
		return path.Clean("/" + u), err == nil
	},
}

// dots removes steps of dots and keeps empty segments, as RFC 3986 does.
func dots(s string) string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimPrefix(s, "/"), "/") {
		switch part {
		case ".":
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, part)
		}
	}
	return "/" + strings.Join(out, "/")
}

// sets are patterns to judge paths by.
var sets = []struct{ wait, pass []pattern }{
	{must("/**"), must("/static/**", "/*.css")},
	{must("/checkout/**"), nil},
	{must("/checkout/**", "/static/secret/**"), must("/checkout/help")},
}

func must(texts ...string) []pattern {
	all, err := parsePatterns("Wait", texts)
	if err != nil {
		panic(err)
	}
	return all
}

// past finds an origin that sees a path that waits where the gate sees one that
// passes.
func past(text string) string {
	r, err := readPath(text)
	if err != nil {
		return ""
	}
	for i, set := range sets {
		if r.waits(set.wait, set.pass) {
			continue
		}
		for name, clean := range origins {
			seen, ok := clean(text)
			if at := segments(seen); ok && matchAny(set.wait, at) && !matchAny(set.pass, at) {
				return fmt.Sprintf("set %d: %q passes, and an origin that cleans by %s sees %q, which waits", i, text, name, seen)
			}
		}
	}
	return ""
}

// FuzzPath: no path passes whose origin sees one that waits.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "/static/a.css", "/checkout", "/static/../checkout", "/static/%2e%2e/checkout", "/static/..%2fcheckout", "/static/..;/checkout", "/static//../checkout/x",
		"/checkout;x=/static/a.css", "/checkout%3F.css", "/checkout%00.css", "/static/%252e%252e/checkout", "/checkout./", `/static\..\checkout`, "/static/. ./checkout",
		"//checkout", "/./checkout", "/checkout%20", "/%63heckout", "/a/;/../checkout", "/static/.../checkout", "/static/%c0%ae%c0%ae/checkout", "/shoes", "/static", "/checkout%23/x.css", "/checkout#0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		assert.Equal(t, "", past(text))
	})
}

// The same for paths made of what programs read in different ways.
func TestPathsOfOddParts(t *testing.T) {
	parts := []string{"/", "/", "/", "//", "static", "checkout", "help", "secret", "a.css", ".css", ".", "..", "...", "%2e", "%2E%2e", "%2f", "%5c", `\`, ";", ";x=1", " ", "%20", "%00", "%23", "#", "%3f", "%25", "%252e", "%252f", "%63", "%c0%ae", "C"}
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		text := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 9).Draw(t, "parts"), "")
		require.Equal(t, "", past(text))
		if r, err := readPath(text); err == nil && !r.waits(sets[1].wait, sets[1].pass) {
			passed++
		}
	})
	if passed == 0 {
		t.Error("no path passed at all")
	}
}
