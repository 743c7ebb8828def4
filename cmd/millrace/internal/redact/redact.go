// Package redact shows URLs and errors without what opens doors.
package redact

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// URL returns scheme, host and path of a URL. User, password and parameters are
// left out; of what is no URL nothing is shown, since it may be anything.
func URL(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme == "" || strings.ContainsFunc(scheme, notInScheme) {
		return "a URL without a scheme"
	}
	// A password with an unescaped / or ? is exactly what makes a URL fail, so
	// everything up to the last @ goes. In the path of a file it is only an @.
	if at := strings.LastIndex(rest, "@"); at >= 0 && !isFile(raw) {
		rest = rest[at+1:]
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest
}

// Text hides what the URLs keep secret in a text that a driver wrote.
func Text(text string, urls ...string) string {
	var secrets []string
	for _, raw := range urls {
		secrets = append(secrets, secretsOf(raw)...)
	}
	// Of one that contains another the longer goes first.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range secrets {
		switch {
		case s == "":
		case len(s) < short:
			text = replaceWords(text, s)
		default:
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	return text
}

const (
	hidden = "xxxxx"
	// A secret below this length is hidden where it stands alone, as drivers
	// write it; elsewhere it is a part of a word and tells nobody anything.
	short = 6
)

// replaceWords hides s where no letter or digit stands beside it.
func replaceWords(text, s string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, s)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(s):])
		out.WriteString(text[:i])
		if word(before) || word(after) {
			out.WriteString(s)
		} else {
			out.WriteString(hidden)
		}
		text = text[i+len(s):]
	}
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// secretsOf returns the secrets of a URL, as they are written and as they mean.
func secretsOf(raw string) (secrets []string) {
	add := func(s string) {
		secrets = append(secrets, s)
		for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
			if decoded, err := decode(s); err == nil && decoded != s {
				secrets = append(secrets, decoded)
			}
		}
	}
	_, rest, ok := strings.Cut(raw, "://")
	if !ok || isFile(raw) {
		return nil
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		if _, password, ok := strings.Cut(rest[:at], ":"); ok {
			add(password)
		}
	}
	if _, query, ok := strings.Cut(rest, "?"); ok {
		for pair := range strings.SplitSeq(query, "&") {
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
	return slices.ContainsFunc([]string{"pass", "secret", "token", "credential"}, func(part string) bool {
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
