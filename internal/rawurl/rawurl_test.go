package rawurl

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A password of each kind that ends a host, begins a query or breaks an escape.
var passwords = []string{"hunter2", "12/hunter2", "12?hunter2", "12#hunter2", "hun%ter2", "hunter2\x7f", "hunter2 ", "[hunter2", "hunter2:", "hunter2@", "12/?#hunter2", "%zzhunter2"}

func TestParseErrors(t *testing.T) {
	for _, scheme := range []string{"redis", "postgres", "kafka", "amqps", "mysql", "sqs", "http"} {
		for _, password := range passwords {
			raw := scheme + "://user:" + password + "@host:1234/name?a=b"
			u, err := Parse(raw)
			if err == nil {
				if got, _ := u.User.Password(); u.Host != "host:1234" || got != password {
					t.Errorf("%q is the host %q with the password %q", raw, u.Host, got)
				}
				continue
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "hunter") || strings.Contains(text, "user:") {
				t.Errorf("%q: %s", raw, text)
			}
			if again, err := Parse(scheme + "://user:" + url.QueryEscape(password) + "@host:1234/name?a=b"); err != nil && !strings.ContainsAny(password, "+ ") {
				t.Errorf("%q is refused also when it is escaped: %v", again, err)
			}
		}
	}
	for _, raw := range []string{"sqlite://folder/@x.db", "sqlite:///a@b/c.db?x@y", "kafka://h:9092/?client_id=a@b", "redis://h:6379/0", "postgres://u:p%40@h/db", "mem://"} {
		_, err := Parse(raw)
		assert.NoError(t, err, "%s", raw)
	}
}

func TestHosts(t *testing.T) {
	for hosts, want := range map[string][]string{
		"h": {"h:7"}, "h:8": {"h:8"}, "h:": {"h:7"}, "[::1]": {"[::1]:7"}, "[::1]:8": {"[::1]:8"}, "10.0.0.1": {"10.0.0.1:7"},
		"a,b:8,[::1]": {"a:7", "b:8", "[::1]:7"},
	} {
		if got, err := Hosts(&url.URL{Scheme: "s", Host: hosts}, "7"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v; want %q", hosts, got, err, want)
		}
	}
	for hosts, want := range map[string]string{
		"": "names no host; write s://host:7 or s://h1:7,h2:7", "a,,b": "empty host", "a,": "empty host",
		"0]7": "that is none", "[": "that is none", ":8": "that is none", "[a]b:c": "that is none", "a,[": "in brackets",
	} {
		if got, err := Hosts(&url.URL{Scheme: "s", Host: hosts}, "7"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %q, %v; want an error with %q", hosts, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range passwords {
		f.Add("redis", p, "host:6379/0")
	}
	f.Add("sqlite", "", "a@b")
	f.Fuzz(func(t *testing.T, scheme, password, rest string) {
		const mark = "s3cr3t-9q"
		raw := scheme + "://u:" + mark + password + "@" + rest
		u, err := Parse(raw)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrMisplaced) || strings.Contains(err.Error(), mark) {
				t.Fatalf("%q: %v", raw, err)
			}
			if Show(raw) != "(a malformed URL)" {
				t.Fatalf("%q is shown as %q", raw, Show(raw))
			}
			return
		}
		if !isPath(u.Scheme) && !strings.Contains(scheme+rest, mark) && strings.Contains(Show(raw), mark) {
			t.Fatalf("%q is shown as %q", raw, Show(raw))
		}
	})
}

func TestHide(t *testing.T) {
	cause := errors.New("dial u:p@ss word at h")
	for raw, want := range map[string]string{
		"postgres://u:p%40ss+word@h/db":        "dial u:xxxxx at h", // too much is better than too little
		"postgres://u:p%40ss%20word@h/db":      "dial u:xxxxx at h",
		"postgres://u@h/db?password=p@ss+word": "dial u:xxxxx at h",
		"host=h user=u password='p@ss word'":   "dial u:xxxxx at h",
		"kafka://h?session_token=p@ss+word":    "dial u:xxxxx at h",
		"kafka://h?token_file=p@ss+word":       "dial u:p@ss word at h",
		"redis://:h@host":                      "dial u:p@ss word at xxxxx",
		"redis://h":                            "dial u:p@ss word at h",
		"":                                     "dial u:p@ss word at h",
	} {
		err := Hide(cause, raw)
		if err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("%s: %q, want %q", raw, err, want)
		}
	}
	assert.NoError(t, Hide(nil, "redis://:secret@h"), "nothing became an error")
}

// A secret is hidden in any way of writing and repeating it.
func FuzzHide(f *testing.F) {
	for _, p := range passwords {
		f.Add(p)
	}
	f.Add("a b+c")
	f.Add(".;@")
	f.Fuzz(func(t *testing.T, password string) {
		const mark = "s3cr3t-9q"
		password = mark + password
		for _, raw := range []string{
			"redis://u:" + password + "@h/0", "redis://u:" + url.PathEscape(password) + "@h/0", "redis://u:" + url.QueryEscape(password) + "@h",
			"postgres://u@h/db?sslpassword=" + url.QueryEscape(password),
		} {
			said := []string{password, url.QueryEscape(password), raw, url.UserPassword("u", password).String()}
			for _, said := range said {
				if text := Hide(fmt.Errorf("dial %s: refused", said), raw).Error(); strings.Contains(text, mark) {
					t.Fatalf("%q says %q", raw, text)
				}
			}
		}
	})
}

func TestShow(t *testing.T) {
	for raw, want := range map[string]string{
		"redis://u:hunter2@h:1/0?x=y#z": "redis://h:1/0",
		"sqlite:///a%20b.db":            "sqlite:///a%20b.db",
		"mailto:a@b":                    "(a malformed URL)",
		"hunter2":                       "(a malformed URL)",
		"redis://:hun%ter2@h":           "(a malformed URL)",
	} {
		if got := Show(raw); got != want {
			t.Errorf("%s is shown as %s, want %s", raw, got, want)
		}
	}
}
