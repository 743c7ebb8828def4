// Package redact shows URLs and errors without their secrets.
package redact

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/internal/rawurl"
)

// URL returns scheme, host and path of a URL, without user, password and parameters. Of a
// text that is not a URL nothing is shown, since it may be anything.
func URL(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme == "" || strings.ContainsFunc(scheme, notInScheme) {
		return "a URL without a scheme"
	}
	// An unescaped / or ? in a password is exactly the kind of error that makes a URL fail,
	// so everything up to the last @ is removed. In the path of a file it is only an @.
	if at := strings.LastIndex(rest, "@"); at >= 0 && !isFile(raw) {
		if mark := strings.IndexAny(rest[:at], "?#"); mark >= 0 && strings.Contains(rest[mark:], "=") {
			return scheme + "://…" // the @ may as well be a parameter's
		}
		rest = rest[at+1:]
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest
}

// Text hides the secrets of the URLs in a text that a driver wrote.
func Text(text string, urls ...string) string {
	var secrets []string
	for _, raw := range urls {
		secrets = append(secrets, secretsOf(raw)...)
	}
	// If a secret contains another, the longer one is replaced first.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range secrets {
		text = rawurl.Mask(text, s, short)
	}
	return text
}

// A secret below this length is hidden only as a separate word, as drivers write it.
const short = 6

// secretsOf returns the secrets of a URL, as written, decoded, and as an error quotes them.
func secretsOf(raw string) (secrets []string) {
	add := func(s string) {
		forms := []string{s}
		for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if decoded, err := decode(s); err == nil && decoded != s {
				forms = append(forms, decoded)
			}
		}
		for _, form := range forms {
			quoted := strconv.Quote(form)
			secrets = append(secrets, form, quoted[1:len(quoted)-1])
		}
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		scheme, rest = "", raw
	}
	if isFile(raw) {
		return nil
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		user, password, both := strings.Cut(rest[:at], ":")
		switch {
		case both:
			add(password)
			// A password with one of these unescaped ends there for a parser, which
			// then quotes a part of it as a port, a path or an escape.
			for _, part := range strings.FieldsFunc(password, func(r rune) bool { return strings.ContainsRune("/?#@:%", r) }) {
				if len(part) > 2 {
					add(part)
				}
			}
		case !slices.Contains([]string{"postgres", "postgresql", "mysql", "mariadb"}, scheme):
			add(user) // outside databases a user alone is a token, or a slip for redis://:password@host
		}
	}
	if _, query, ok := strings.Cut(rest, "?"); ok {
		for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
			if name, value, ok := strings.Cut(pair, "="); ok && secret(name) {
				add(value)
			}
		}
	}
	return secrets
}

// secret reports whether a parameter of this name is one.
func secret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"pass", "pwd", "secret", "token", "credential", "auth", "api_key", "apikey", "access_key"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

func isFile(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme == "sqlite" && u.User == nil
}

func notInScheme(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-'
}
